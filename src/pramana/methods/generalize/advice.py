"""What would make a useless generalisation useful: tried on the table, as a release would publish it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from pramana.calibration import Usefulness
from pramana.errors import PramanaError
from pramana.methods.generalize.setting import GeneralizeSetting

_FEWER = (50, 20, 10, 5, 3, 2)
_SUPPRESSED = 0.05
Tried = Callable[[GeneralizeSetting], Usefulness]
_PDF = 'With cells = "pdf" the share of every value of a single column is known exactly, at the same k.'


def advice_for(setting: GeneralizeSetting, tried: Tried) -> Iterator[str]:
    """Each a change of one key, with what it reaches."""
    if setting.cells != "pdf" and setting.suppress == "rows":
        yield _PDF
    if setting.algorithm == "incognito" and setting.suppression < _SUPPRESSED:
        yield from _said(
            f"With suppression = {_SUPPRESSED}", tried, msgspec.structs.replace(setting, suppression=_SUPPRESSED)
        )
    for k in (k for k in _FEWER if k < setting.k):
        words = list(_said(f"With k = {k}", tried, msgspec.structs.replace(setting, k=k)))
        if words:
            yield from words
            break
    if setting.algorithm == "incognito":
        finer = msgspec.structs.replace(
            setting, algorithm="mondrian", suppression=0.0, suppress="rows", levels=None
        )
        yield from _said('With algorithm = "mondrian"', tried, finer)
    yield "Fewer quasi-identifying columns make larger classes, which may be finer."


def _said(words: str, tried: Tried, setting: GeneralizeSetting) -> Iterator[str]:
    try:
        worth = tried(setting)
    except PramanaError:
        return
    if not worth.useless and worth.best is not None:
        yield f"{words} {worth.best.words}."
