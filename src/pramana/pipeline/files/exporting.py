"""A release as a file of another program: what the bundle holds, with the labels that its certificate states."""

from __future__ import annotations

from pathlib import Path

from pramana.bundle import Bundle, scratch_beside, sweep
from pramana.errors import InputError
from pramana.pipeline.analysis import require_valid
from pramana.pipeline.files.codebook import read_codebook
from pramana.pipeline.files.copies import check_written, published_table
from pramana.randomness import flush, give_name
from pramana.sources import EXPORTS, write_export
from pramana.stores import local_path


def export(bundle: str | Path, out: str | Path, *, unverified: bool = False) -> Path:
    """Write the data of a bundle as SPSS (.sav, .zsav), Stata (.dta), Excel (.xlsx) or Arrow (.arrow, .feather).

    Value labels and variable labels that the source had come along for what is published. The bundle is verified
    first, and the file is read back before it takes its name.

    >>> pramana.export("published", "published.sav")  # doctest: +SKIP
    PosixPath('published.sav')
    """
    out = local_path(out, "An export")
    form = EXPORTS.get(out.suffix.lower())
    if form is None:
        raise InputError(f"The file must end with one of {', '.join(EXPORTS)}", repr(out.suffix))
    sweep(out)
    if out.exists() or out.is_symlink():
        raise InputError(f"The file {out} must not exist yet", "an existing one", "Choose another name.")
    opened = Bundle.open(bundle)
    if not unverified:
        require_valid(opened, bundle)
    table, kinds = published_table(opened)
    try:
        with scratch_beside(out) as scratch:  # the libraries that write have temporary files of their own
            part = scratch / out.name
            write_export(part, form, table, kinds, read_codebook(opened.certificate.codebook))
            check_written(part, form, table)
            flush(part)
            give_name(part, out)
    except FileExistsError:
        raise InputError(f"The file {out} must not exist yet", "an existing one") from None
    except OSError as error:
        raise InputError(f"{out} must be a place to write to", error.strerror or type(error).__name__) from None
    return out
