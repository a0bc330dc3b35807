"""Values that look as if they stood for a missing one: 99, -1, 9999, "refused", "k.A."."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_WORDS = frozenset(
    {
        "na", "n/a", "n.a.", "nan", "null", "none", "nil", "missing", "unknown", "refused", "refusal",
        "declined", "not_stated", "not_applicable", "no_answer", "not_available", "dont_know", "don't_know",
        "dk", "d/k", "prefer_not_to_say", "unspecified", ".", "-", "--", "?", "*", "k.a.", "k.a", "ka",
        "keine_angabe", "unbekannt", "verweigert", "weiss_nicht", "weiß_nicht", "trifft_nicht_zu", "w.n.",
        "fehlend", "nsp", "ne_sait_pas", "refus", "inconnu", "sans_reponse", "non_reponse", "non_applicable",
        "ns/nr", "no_sabe", "no_contesta", "ns", "nc", "desconocido", "sin_dato", "rifiuta", "non_so",
        "non_risponde", "sconosciuto", "onbekend", "geweigerd", "weet_niet", "desconhecido", "nao_sabe", "brak",
        "nie_wiem", "odmowa", "okand", "vet_ej", "#n/a", "#null!", "<na>", "(missing)", "(blank)",
    }
)  # fmt: skip
_NINES = (
    9.0,
    99.0,
    999.0,
    9999.0,
    99999.0,
    999999.0,
    98.0,
    998.0,
    9998.0,
    97.0,
    997.0,
    9997.0,
    88.0,
    888.0,
    8888.0,
)
_NEGATIVE = tuple(-float(n) for n in (*range(1, 10), 77, 88, 98, 99, 888, 997, 998, 999, 8888, 9998, 9999))
_APART = 1.5  # how far above everything else a code of nines must stand, relative to the spread of the rest
_COMMON = 3.0  # or how much commoner than its neighbours


def is_missing_word(text: str) -> bool:
    """Whether a text says in words that there is no value."""
    return "_".join(text.strip().lower().split()) in _WORDS


def missing_words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(text for text in texts if is_missing_word(text))


def missing_numbers(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the distinct numbers look like codes: negative ones among positive, nines far above the rest."""
    suspected = np.zeros(len(values), np.bool_)
    negative = np.isin(values, _NEGATIVE)
    below = values < 0
    others = values[~below]
    if negative.any() and (negative == below).all() and len(others) and counts[~below].sum() > counts[below].sum():
        suspected |= negative
    for code in sorted(values[np.isin(values, _NINES)].tolist(), reverse=True):
        rest = ~suspected & (values != code) & (values >= 0)
        if rest.sum() >= 3 and _stands_apart(code, values[rest], int(counts[values == code][0]), counts[rest]):
            suspected |= values == code
    return suspected


def _stands_apart(code: float, rest: NDArray[np.float64], count: int, counts: NDArray[np.int64]) -> bool:
    """Above all others by more than they spread, or above nearly all and far commoner than its neighbours."""
    order = np.argsort(rest)
    spread = np.cumsum(counts[order])
    high = float(rest[order][int(np.searchsorted(spread, 0.99 * spread[-1]))])
    low = float(rest.min())
    if code > float(rest.max()) and code - high > _APART * max(high - low, 1.0):
        return True
    near = counts[np.abs(rest - code) <= max(0.1 * code, 2.0)]
    return code >= high and count > _COMMON * max(int(near.max(initial=1)), 1)
