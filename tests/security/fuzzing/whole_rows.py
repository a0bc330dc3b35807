"""Random calls of the kernels that move whole rows, packed into words."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.security.fuzzing.calls import Draw, codes, hostile, length

from pramana.randomness import _order


def rows_packed(draw: Draw) -> None:
    n = length(draw)
    kinds: list[Any] = draw.choice([[np.uint8] * 8, [np.uint16, np.uint32, np.uint8], [np.uint32] * 2, []])
    given = [codes(draw, n, 200, kind) for kind in kinds]
    rows, out = np.zeros(n, np.uint64), [np.empty(n, kind) for kind in kinds]
    _order.pack_rows(given, rows)
    chosen = np.array([draw.randrange(n) for _ in range(n)], np.uint32)
    _order.gather_rows(rows, chosen, out)
    assert all((found == column[chosen]).all() for found, column in zip(out, given, strict=True))
    hostile(draw, _order.pack_rows, [given, rows])
    hostile(draw, _order.gather_rows, [rows, chosen, out])
    table = codes(draw, 256, 200)
    for column in given:
        translated = np.empty(n, table.dtype)
        _order.translate(column, table, translated)
        assert (translated == table[column]).all()
        hostile(draw, _order.translate, [column, table, translated])
