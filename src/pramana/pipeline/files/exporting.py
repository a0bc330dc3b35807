"""A release as a file of another program, or described for a catalogue, with what its certificate states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import overload

from pramana.bundle import Bundle, check_new_object, name_here, scratch_beside, sweep
from pramana.errors import InputError
from pramana.pipeline.analysis import require_valid
from pramana.pipeline.files.codebook import read_codebook
from pramana.pipeline.files.copies import check_written, published_table
from pramana.pipeline.files.descriptions import DESCRIPTIONS, DescribedRelease
from pramana.randomness import flush, give_name
from pramana.sources import EXPORTS, write_export
from pramana.stores import AnyPath, StorePath, located, put_file


@overload
def export(
    bundle: str | AnyPath,
    out: Path,
    *,
    form: str | None = None,
    about: Mapping[str, str] | None = None,
    unverified: bool = False,
) -> Path: ...
@overload
def export(
    bundle: str | AnyPath,
    out: str | AnyPath,
    *,
    form: str | None = None,
    about: Mapping[str, str] | None = None,
    unverified: bool = False,
) -> AnyPath: ...
def export(
    bundle: str | AnyPath,
    out: str | AnyPath,
    *,
    form: str | None = None,
    about: Mapping[str, str] | None = None,
    unverified: bool = False,
) -> AnyPath:
    """Write the data of a bundle as SPSS (.sav, .zsav), Stata (.dta), Excel (.xlsx) or Arrow (.arrow, .feather).

    Value labels and variable labels that the source had come along for what is published. The bundle is verified
    first, and the file is read back before it takes its name. `out` may be the URL of a new object in a store.

    With `form` the release is described instead, for a catalogue: "opendp-registry" (YAML), "croissant" (JSON-LD)
    or "ddi" (DDI Codebook 2.5, XML). `about` says what [about] of the recipe did not.

    >>> pramana.export("published", "published.sav")  # doctest: +SKIP
    PosixPath('published.sav')
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
            raise InputError(f"The file {out} must not exist yet", "an existing one", "Choose another name.")
    opened = Bundle.open(bundle)
    if not unverified:
        require_valid(opened, bundle)
    write = (
        partial(_write_data, opened) if form is None else partial(_write_description, opened, form, about or {})
    )
    try:
        # the libraries that write have temporary files of their own
        with scratch_beside(name_here(out)) as scratch:
            part = scratch / out.name
            write(part)
            if isinstance(out, StorePath):
                check_new_object(out)
                put_file(out, part, InputError)
            else:
                flush(part)
                give_name(part, out)
    except FileExistsError:
        raise InputError(f"The file {out} must not exist yet", "an existing one") from None
    except OSError as error:
        raise InputError(f"{out} must be a place to write to", error.strerror or type(error).__name__) from None
    return out


def _endings(form: str | None) -> Sequence[str]:
    if form is None:
        return list(EXPORTS)
    if form not in DESCRIPTIONS:
        raise InputError(f"A description must be one of {', '.join(DESCRIPTIONS)}", repr(form)[:40])
    return DESCRIPTIONS[form].endings


def _write_data(bundle: Bundle, part: Path) -> None:
    form = EXPORTS[part.suffix.lower()]
    table, kinds = published_table(bundle)
    write_export(part, form, table, kinds, read_codebook(bundle.certificate.codebook))
    check_written(part, form, table)


def _write_description(bundle: Bundle, form: str, about: Mapping[str, str], part: Path) -> None:
    part.write_bytes(DESCRIPTIONS[form].make(DescribedRelease.of(bundle, about)))
