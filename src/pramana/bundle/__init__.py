"""Bundles: the certificate and its form, the folder that appears whole, the one reader of published files."""

from pramana.bundle.bundle import Bundle, Spread, published_batches
from pramana.bundle.certificate import Certificate, JsonObject, canonical
from pramana.bundle.check import Check
from pramana.bundle.folder import (
    check_new,
    compared_folder,
    is_taken,
    name_here,
    new_parts,
    same_files,
    scratch_beside,
    sweep,
    whole_folder,
)
from pramana.bundle.form import CertificateForm, Form
from pramana.bundle.part_folder import PartFolder, PartTarget, WrittenFile
from pramana.bundle.parts import PARTS, Part, PartSet, part_name, parts_in
from pramana.bundle.promises import PromiseTable
from pramana.bundle.published_numbers import WITHIN_BIN, PublishedNumbers, notes_on_numbers, numbers_of
from pramana.bundle.signing import make_signing_key, read_public_key, read_signing_key
from pramana.bundle.stored.uploading import check_new_object, check_outside

__all__ = [
    "PARTS",
    "WITHIN_BIN",
    "Bundle",
    "Certificate",
    "CertificateForm",
    "Check",
    "Form",
    "JsonObject",
    "Part",
    "PartFolder",
    "PartSet",
    "PartTarget",
    "PromiseTable",
    "PublishedNumbers",
    "Spread",
    "WrittenFile",
    "canonical",
    "check_new",
    "check_new_object",
    "check_outside",
    "compared_folder",
    "is_taken",
    "make_signing_key",
    "name_here",
    "new_parts",
    "notes_on_numbers",
    "numbers_of",
    "part_name",
    "parts_in",
    "published_batches",
    "read_public_key",
    "read_signing_key",
    "same_files",
    "scratch_beside",
    "sweep",
    "whole_folder",
]
