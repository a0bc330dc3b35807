"""Bundles: the certificate and its form, the folder that appears whole, the one reader of published files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.bundle.bundle import Bundle, Spread, published_batches
    from pramana.bundle.certificate import Certificate, JsonObject, canonical
    from pramana.bundle.check import MOST_NAMED, Check, first_names
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
    from pramana.bundle.own_files import own_file
    from pramana.bundle.part_folder import PartFolder, PartTarget, WrittenFile
    from pramana.bundle.parts import PARTS, Part, PartSet, part_name, parts_in
    from pramana.bundle.promises import PromiseTable
    from pramana.bundle.published_numbers import WITHIN_BIN, PublishedNumbers, notes_on_numbers, numbers_of
    from pramana.bundle.signing import make_signing_key, read_public_key, read_signing_key
    from pramana.bundle.stored.uploading import check_new_object, check_outside

_MODULE_OF = {  # a command loads what it uses
    "Bundle": "bundle",
    "Certificate": "certificate",
    "CertificateForm": "form",
    "Check": "check",
    "Form": "form",
    "JsonObject": "certificate",
    "MOST_NAMED": "check",
    "PARTS": "parts",
    "Part": "parts",
    "PartFolder": "part_folder",
    "PartSet": "parts",
    "PartTarget": "part_folder",
    "PromiseTable": "promises",
    "PublishedNumbers": "published_numbers",
    "Spread": "bundle",
    "WITHIN_BIN": "published_numbers",
    "WrittenFile": "part_folder",
    "canonical": "certificate",
    "check_new": "folder",
    "check_new_object": "stored.uploading",
    "check_outside": "stored.uploading",
    "compared_folder": "folder",
    "first_names": "check",
    "is_taken": "folder",
    "make_signing_key": "signing",
    "name_here": "folder",
    "new_parts": "folder",
    "notes_on_numbers": "published_numbers",
    "numbers_of": "published_numbers",
    "own_file": "own_files",
    "part_name": "parts",
    "parts_in": "parts",
    "published_batches": "bundle",
    "read_public_key": "signing",
    "read_signing_key": "signing",
    "same_files": "folder",
    "scratch_beside": "folder",
    "sweep": "folder",
    "whole_folder": "folder",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = [
    "MOST_NAMED",
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
    "first_names",
    "is_taken",
    "make_signing_key",
    "name_here",
    "new_parts",
    "notes_on_numbers",
    "numbers_of",
    "own_file",
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
