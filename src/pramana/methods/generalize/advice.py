"""What would make a useless generalisation useful: each a change of one key of [release]."""

from __future__ import annotations

from collections.abc import Iterator

from pramana.methods.generalize.setting import GeneralizeSetting
from pramana.methods.trials import Change

_FEWER = (50, 20, 10, 5, 3, 2)
_SUPPRESSED = 0.05
PDF = 'With cells = "pdf" the share of every value of a single column is known exactly, at the same k.'


def offers_pdf(setting: GeneralizeSetting) -> bool:
    return setting.cells != "pdf" and setting.suppress == "rows"


def changes_of(setting: GeneralizeSetting) -> Iterator[list[Change]]:
    """Lists of changes, of each of which the first that helps is said."""
    if setting.algorithm == "incognito" and setting.suppression < _SUPPRESSED:
        yield [(f"With suppression = {_SUPPRESSED}", {"suppression": _SUPPRESSED})]
    yield [(f"With k = {k}", {"k": k}) for k in _FEWER if k < setting.k]
    if setting.algorithm == "incognito":
        finer = {"algorithm": "mondrian", "suppression": 0.0, "suppress": "rows", "levels": None}
        yield [('With algorithm = "mondrian"', finer)]
