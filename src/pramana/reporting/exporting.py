"""A release as a file of another program, or described for a catalogue, with what its certificate states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack, overload

from pramana.bundle.bundle import Bundle
from pramana.errors import InputError
from pramana.files.atomic import already_exists, flush, give_name
from pramana.files.folder import name_here, scratch_beside, sweep
from pramana.files.locations import located
from pramana.files.store_path import AnyPath, StorePath, put_file
from pramana.files.upload import check_new_object
from pramana.io.exports import write_export
from pramana.io.formats import EXPORTS
from pramana.recipient.analysis import require_valid
from pramana.reporting.catalogues import DescribedRelease, croissant, ddi_codebook
from pramana.reporting.opendp_registry import registry_record
from pramana.run.codebook import check_written, published_table, read_codebook

# A release described in the words of other people's catalogues: a registry, Croissant, DDI Codebook.


@dataclass(frozen=True)
class DescriptionForm:
    """How a description is made, and how the names of its files end."""

    make: Callable[[DescribedRelease], bytes]
    endings: tuple[str, ...]


DESCRIPTIONS = {
    "opendp-registry": DescriptionForm(registry_record, (".yaml", ".yml")),
    "croissant": DescriptionForm(croissant, (".json", ".jsonld")),
    "ddi": DescriptionForm(ddi_codebook, (".xml",)),
}


class ExportOptions(TypedDict, total=False):
    form: str | None
    about: Mapping[str, str] | None
    unverified: bool


@overload
def export(bundle: str | AnyPath, out: Path, **options: Unpack[ExportOptions]) -> Path: ...
@overload
def export(bundle: str | AnyPath, out: str | AnyPath, **options: Unpack[ExportOptions]) -> AnyPath: ...
def export(
    bundle: str | AnyPath,
    out: str | AnyPath,
    *,
    form: str | None = None,
    about: Mapping[str, str] | None = None,
    unverified: bool = False,
) -> AnyPath:
    """Write the data of a bundle for another program, or describe the release for a catalogue.

    Value labels and variable labels that the source had come along for what is published. The bundle is verified
    first, and the file is read back before it takes its name.

    Args:
        bundle: A folder, or the URL of a bundle in a store.
        out: A new file, here or in a store: SPSS (.sav, .zsav), Stata (.dta), Excel (.xlsx) or Arrow (.arrow,
            .feather).
        form: Describe the release instead: "opendp-registry" (YAML), "croissant" (JSON-LD) or "ddi" (DDI Codebook
            2.5, XML).
        about: What [about] of the recipe did not say.
        unverified: Go on where the bundle fails verification.

    Returns:
        The path of the file.

    Raises:
        BundleError: The bundle cannot be read, or fails verification.
        InputError: The file exists already, or has an ending of no known format.
        MissingExtraError: The extra for the format is not installed.

    >>> import pramana
    >>> pramana.export("published", "published.arrow").name
    'published.arrow'
    """
    out = located(out, "An export", InputError)
    endings = _endings(form)
    if out.suffix.lower() not in endings:
        raise InputError(f"The file must end with one of {', '.join(endings)}", repr(out.suffix))
    if about and form is None:
        raise InputError("What is said about a release must go with a description of it", "a file of its data")
    if isinstance(out, StorePath):
        check_new_object(out)
    else:
        sweep(out)
        if out.exists() or out.is_symlink():
            raise already_exists(f"The file {out}", InputError)
    opened = Bundle.open(bundle)
    if not unverified:
        require_valid(opened, bundle)
    try:
        # the libraries that write have temporary files of their own
        with scratch_beside(name_here(out)) as scratch:
            part = scratch / out.name
            _write(opened, form, about or {}, part)
            if isinstance(out, StorePath):
                check_new_object(out)
                put_file(out, part, InputError)
            else:
                flush(part)
                give_name(part, out)
    except FileExistsError:
        raise already_exists(f"The file {out}", InputError) from None
    except OSError as error:
        raise InputError(f"{out} must be a place to write to", error.strerror or type(error).__name__) from None
    return out


def _endings(form: str | None) -> Sequence[str]:
    if form is None:
        return list(EXPORTS)
    if form not in DESCRIPTIONS:
        raise InputError(f"A description must be one of {', '.join(DESCRIPTIONS)}", repr(form)[:40])
    return DESCRIPTIONS[form].endings


def _write(bundle: Bundle, form: str | None, about: Mapping[str, str], part: Path) -> None:
    """The data for another program by the file's ending; with `form`, a description."""
    if form is not None:
        part.write_bytes(DESCRIPTIONS[form].make(DescribedRelease.of(bundle, about)))
        return
    kind = EXPORTS[part.suffix.lower()]
    table, kinds = published_table(bundle)
    write_export(part, kind, table, kinds, read_codebook(bundle.certificate.codebook))
    check_written(part, kind, table)
