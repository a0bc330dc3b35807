"""Days as people write them, turned into ISO's 2024-03-31: by a stated format, or where only one day is meant."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from pramana.errors import RecipeError, SourceError

_PARTS = {
    "d": "(?P<d>[0-9]{1,2})",
    "m": "(?P<m>[0-9]{1,2})",
    "Y": "(?P<y>[0-9]{4})",
    "H": "(?:[01]?[0-9]|2[0-3])",
    "M": "[0-5]?[0-9]",
    "S": "[0-5]?[0-9]",
    "f": "[0-9]{1,9}",
    "%": "%",
}
_CLOCK = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?"
_TIME = rf"(?:[T ]{_CLOCK}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
_PLAIN = (  # each can be read one way only
    r"^(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})" + _TIME + "$",
    r"^(?P<y>[0-9]{4})/(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})" + _TIME + "$",
    r"^(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\.(?P<y>[0-9]{4})" + _TIME + "$",
)
_EITHER = r"^[0-9]{1,2}([/-])[0-9]{1,2}[/-][0-9]{2,4}" + _TIME + "$"  # day or month first: nobody can tell


def date_pattern(form: str, where: str = "dates") -> str:
    """The regular expression of a format such as %d.%m.%Y; refused where it does not name one day."""
    must = f"{where} must name a day, a month and a year by %d, %m and %Y, and times by %H, %M, %S and %f"
    parts, directives = [], []
    for literal, directive in re.findall(r"([^%]+)|%(.?)", form):
        if literal:
            parts.append(re.escape(literal))
        elif directive not in _PARTS:
            hint = "Years must have four digits: of two nobody can tell the century." if directive == "y" else None
            raise RecipeError(must, repr(form), hint)
        else:
            parts.append(_PARTS[directive])
            directives.append(directive)
    if any(directives.count(needed) != 1 for needed in "dmY"):
        raise RecipeError(must, repr(form))
    return f"^{''.join(parts)}$"


def stated_days(texts: pa.Array, form: str, name: str) -> pa.Array:
    """Texts in a stated format as ISO's; null stays null, and anything else is refused."""
    days = _days(texts, date_pattern(form))
    if days.null_count > texts.null_count:
        raise SourceError(
            f"Every value of the column {name!r} must be a date written as {form}",
            "others",
            "State what stands for a missing one: missing = [...].",
        )
    return days


def plain_days(texts: pa.Array, name: str) -> pa.Array:
    """Texts as ISO's days where they can be read one way only, and unchanged where they are no dates."""
    import pyarrow.compute as pc

    if pc.any(pc.match_substring_regex(texts, _EITHER)).as_py():
        raise SourceError(
            f"Dates of the column {name!r} must say whether day or month comes first",
            "some as 3/1/2024 are",
            'Set dates = "%d/%m/%Y" or dates = "%m/%d/%Y" in its section.',
        )
    for pattern in _PLAIN:
        texts = pc.coalesce(_days(texts, pattern), texts)
    return texts


def _days(texts: pa.Array, pattern: str) -> pa.Array:
    """ISO's days where the pattern fits and the calendar has the day; null elsewhere."""
    import pyarrow.compute as pc

    parts = pc.extract_regex(texts, pattern)
    year, month, day = (
        np.asarray(pc.fill_null(pc.struct_field(parts, name).cast(pa.int32()), 0), np.int64) for name in "ymd"
    )
    fits = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = (np.where(fits, (year - 1970) * 12 + month - 1, 0)).astype("datetime64[M]")
    first = months.astype("datetime64[D]")
    fits &= day <= ((months + 1).astype("datetime64[D]") - first).astype(np.int64)
    days = (first.astype(np.int64) + np.where(fits, day, 1) - 1).astype(np.int32)
    return pa.array(days, pa.int32(), mask=~fits).view(pa.date32()).cast(pa.string())
