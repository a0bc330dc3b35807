"""Every C kernel with random sizes and edges: right answers where its input fits, a refusal where it does not.

A NumPy or Python account of the same work says what is right. Hostile calls have lengths, numbers and codes that
do not fit; a kernel may refuse them or not, and must touch no memory but its buffers: that is what the sanitizers
see (`make sanitize`). A case is repeated with `python -m tests.security.fuzzing.kernels NAME SEED`.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.security.fuzzing.calls import ONE, Array, Draw, codes, hostile, length, size_of_domain, words
from tests.security.fuzzing.whole_rows import rows_packed

from pramana.counting import _classes
from pramana.mechanisms import _levels
from pramana.methods.generalize import _partition
from pramana.methods.microaggregate import _mdav
from pramana.randomness import _kernels, _order
from pramana.theory import _grid

# ---------------------------------------------------------------- the samplers


def retain(draw: Draw) -> None:
    n, size = length(draw), size_of_domain(draw)
    step = draw.choice([0, 1, 2, 3, ONE // size, draw.randrange(ONE // size + 1)])
    given, coins = codes(draw, n, size), words(draw, n)
    out = np.empty_like(given)
    _kernels.retain(coins, given, out, size, step)
    for i in range(n):
        r = int(coins[i]) >> 2
        assert out[i] == (r // step if step and r < size * step else given[i])
    hostile(draw, _kernels.retain, [coins, given, out, size, step])


def retain_joint(draw: Draw) -> None:
    n, size = length(draw), size_of_domain(draw)
    bound = draw.choice([0, 1, ONE, draw.randrange(ONE)])
    given, coins, fresh = codes(draw, n, size), words(draw, n), words(draw, n)
    out = np.empty_like(given)
    _kernels.retain_joint(coins, fresh, given, out, size, bound)
    for i in range(n):
        assert out[i] == (int(fresh[i]) * size >> 64 if int(coins[i]) >> 2 < bound else given[i])
    hostile(draw, _kernels.retain_joint, [coins, fresh, given, out, size, bound])


def weights_of(draw: Draw, rows: int, size: int) -> Array:
    """Integers that sum to 2^62 in each row, some of them none at all."""
    table = np.zeros((rows, size), np.int64)
    for row in table:
        left = ONE
        for place in draw.sample(range(size), size)[:-1]:
            row[place] = draw.choice([0, left // 2, draw.randrange(left + 1)])
            left -= int(row[place])
        row[draw.randrange(size)] += left
    return table


def alias(draw: Draw) -> None:
    size = draw.choice([1, 2, 3, 5, 18, 64])
    rows, bits = draw.choice([1, 2, size]), max(0, (size - 1).bit_length())
    weights = weights_of(draw, rows, size)
    table = np.zeros(rows << bits, np.uint64)
    _kernels.fill_alias(weights, size, table, bits)
    counted = _law_of(table.reshape(rows, -1), size, bits)
    assert (counted == weights).all()
    brief = np.zeros(table.size, np.uint32)
    _kernels.shorten_alias(table, brief, bits)
    n = length(draw)
    given, coins = codes(draw, n, rows), words(draw, n)
    out, short = np.empty_like(given), np.empty_like(given)
    _kernels.alias(coins, given, out, table, bits)
    _kernels.alias(coins, given, short, table, bits, brief)
    assert (out == short).all() and (n == 0 or (out < size).all())
    hostile(draw, _kernels.alias, [coins, given, out, table, bits, draw.choice([None, brief])])
    hostile(draw, _kernels.fill_alias, [weights, size, table, bits])
    hostile(draw, _kernels.shorten_alias, [table, brief, bits])


def _law_of(table: Array, size: int, bits: int) -> Array:
    """How many of the 2^62 integers lead to each value."""
    capacity = 1 << (62 - bits)
    counted = np.zeros((len(table), size), object)
    for row, slots in enumerate(table.tolist()):
        for slot, word in enumerate(slots):
            own, other = word >> bits, word & ((1 << bits) - 1)
            if own:
                counted[row, slot] += own
            counted[row, other] += capacity - own
    return counted


# ---------------------------------------------------------------- the order of rows


def order(draw: Draw) -> None:
    n, bits = length(draw), draw.choice([0, 1, 2, 5])
    tags = np.frombuffer(draw.randbytes(16 * n), np.uint64).copy()
    if n > 1 and draw.random() < 0.5:  # tags that tie in all the bits that an entry has
        tags[0::2] = tags[0] & np.uint64(2**64 - 2**20) if draw.random() < 0.5 else tags[0]
    counts = np.zeros(1 << bits, np.uint64)
    _order.count_tags(tags, counts)
    assert counts.sum() == n
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    places, entries = starts[:-1].copy(), np.zeros(n, np.uint64)
    _order.place_tags(tags, 0, places, entries)
    before, found, rest = entries.copy(), np.zeros(n, np.uint32), draw.choice([0, 1, 5, 13, 14, 20])
    ties = _order.sort_buckets(entries, starts, 0, 1 << bits, rest, found)
    shown = [(int(tags[2 * row]) << bits & (2**64 - 1)) >> 32 for row in range(n)]
    buckets = [int(tags[2 * row]) >> (64 - bits) if bits else 0 for row in range(n)]
    expected = sorted(range(n), key=lambda row: (buckets[row], shown[row], row))
    assert found.tolist() == expected
    assert ties == [i for i in range(1, n) if _ties(expected, buckets, shown, i)]
    hostile(draw, _order.count_tags, [tags, counts])
    hostile(draw, _order.place_tags, [tags, 0, starts[:-1].copy(), entries])
    hostile(draw, _order.sort_buckets, [before, starts, 0, 1 << bits, rest, found])


def _ties(expected: list[int], buckets: list[int], shown: list[int], i: int) -> bool:
    one, other = expected[i - 1], expected[i]
    return buckets[one] == buckets[other] and shown[one] == shown[other]


def gather(draw: Draw) -> None:
    size, n = size_of_domain(draw), length(draw)
    given = codes(draw, max(1, length(draw)), size)
    chosen = np.array([draw.randrange(len(given)) for _ in range(n)], np.uint32)
    out = np.empty(n, given.dtype)
    _order.gather(given, chosen, out)
    assert (out == given[chosen]).all()
    counts = np.zeros(size, np.uint64)
    _order.tally(given, counts)
    assert (counts == np.bincount(given, minlength=size)).all()
    hostile(draw, _order.gather, [given, chosen, out])
    hostile(draw, _order.tally, [given, counts])


# ---------------------------------------------------------------- classes


def classes(draw: Draw) -> None:
    n, wide, columns = length(draw), draw.choice([1, 1, 2, 3]), draw.choice([1, 1, 3])
    keys = np.zeros((n, wide), np.uint64)
    for word in range(wide):
        for shift in (0, 7, 56):
            _classes.pack(codes(draw, n, 5, np.uint8), keys, wide, word, shift)
    counts = np.array([draw.randrange(4) for _ in range(n * columns)], np.uint32).reshape(n, columns)
    keep = np.array([draw.choice([2**64 - 1, 0x7F, 0]) for _ in range(wide)], np.uint64)
    ops, tables = _fields(draw, wide)
    merged, sums = np.empty_like(keys), np.empty((n, columns), np.uint32)
    index = np.empty(n, np.uint32)
    groups = _classes.roll(keys, counts, columns, keep, ops, tables, merged, sums, index)
    expected: dict[tuple[int, ...], list[int]] = {}
    for i, key in enumerate(keys.tolist()):
        rolled = [word & int(mask) for word, mask in zip(key, keep, strict=True)]
        for word, shift, bits, start in ops.tolist():
            rolled[word] |= int(tables[start + (key[word] >> shift & (1 << bits) - 1)])
        expected.setdefault(tuple(rolled), []).append(i)
    assert groups == len(expected) and [tuple(k) for k in merged[:groups].tolist()] == list(expected)
    for g, rows in enumerate(expected.values()):
        assert (sums[g] == counts[rows].sum(0)).all() and (index[rows] == g).all()
    hostile(draw, _classes.roll, [keys, counts, columns, keep, ops, tables, merged, sums, index])
    hostile(draw, _classes.pack, [codes(draw, n, 5), keys, wide, 0, 3])
    _tallied(draw, merged[:groups], sums[:groups].copy(), ops)


def _fields(draw: Draw, wide: int) -> tuple[Array, Array]:
    """Fields of the key: word, shift, bits, and where the table of its entries starts."""
    ops, tables = [], [0]
    for _ in range(draw.randrange(3)):
        bits = draw.choice([0, 1, 3, 5])
        ops.append([draw.randrange(wide), draw.choice([0, 7, 56, 64 - bits]), bits, len(tables)])
        tables += [draw.randrange(4) << draw.choice([0, 60]) for _ in range(1 << bits)]
    return np.array(ops, np.int64).reshape(-1, 4), np.array(tables, np.uint64)


def _tallied(draw: Draw, keys: Array, counts: Array, fields: Array) -> None:
    n, wide = keys.shape
    held = np.array([draw.random() < 0.5 for _ in range(n)], np.uint8)
    most = max((start + (1 << bits) for _, _, bits, start in fields.tolist()), default=0)
    tables, sums = np.array([draw.random() for _ in range(most)]), np.zeros(len(fields))
    keys = np.ascontiguousarray(keys)
    found = _classes.tally(keys, wide, counts, counts.shape[1], held, fields, tables, sums)
    sizes = counts[:, 0].astype(float)
    assert found == (held.sum(), sizes[held > 0].sum(), (sizes[held > 0] ** 2).sum())
    for f, (word, shift, bits, start) in enumerate(fields.tolist()):
        entry = [tables[start + (key[word] >> shift & (1 << bits) - 1)] for key in keys.tolist()]
        assert np.isclose(sums[f], (sizes * (held == 0)) @ np.array(entry, float))
    arguments: list[Any] = [keys, wide, counts, counts.shape[1], held, fields, tables, sums]
    hostile(draw, _classes.tally, arguments)


def draw_values(draw: Draw) -> None:
    groups, n = draw.randrange(1, 6), length(draw)
    sizes = [draw.randrange(1, 6) for _ in range(groups)]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    weights = [[draw.randrange(1, 9) for _ in range(size)] for size in sizes]
    upto = np.concatenate([np.cumsum(group) for group in weights]).astype(np.int64)
    values = np.array([draw.randrange(99) for _ in range(len(upto))], np.uint32)
    class_of = np.array([draw.randrange(groups) for _ in range(n)], np.uint32)
    coins, out = words(draw, n), np.empty(n, np.uint32)
    _classes.draw(coins, class_of, first, upto, values, out)
    for i in range(n):
        low, high = first[class_of[i]], first[class_of[i] + 1]
        place = (int(coins[i]) >> 2) * int(upto[high - 1]) >> 62
        assert out[i] == values[low + np.searchsorted(upto[low:high], place, "right")]
    hostile(draw, _classes.draw, [coins, class_of, first, upto, values, out])


def partition(draw: Draw) -> None:
    n, attributes, mode = max(1, length(draw, 300)), draw.randrange(1, 4), draw.randrange(3)
    shape, labels, columns = [], [], []
    for _ in range(attributes):
        leaves = draw.choice([1, 2, 5, 40])
        levels = draw.choice([0, 0, 1, 2, 3])
        shape.append([leaves, levels])
        for level in range(levels):
            labels += [v // 3**level for v in range(leaves)]
        columns.append(codes(draw, n, leaves, np.uint16))
    values = draw.choice([0, 0, 3])
    if values:
        columns.append(codes(draw, n, values, np.uint16))
    rows = np.ascontiguousarray(np.stack(columns, 1))
    k, class_of = draw.choice([1, 2, 5, n, n + 1]), np.zeros(n, np.uint32)
    some = np.array([draw.choice([1, 1, 2, 9]) for _ in range(n)], np.uint32)
    times = some if mode == 0 and draw.random() < 0.5 else None
    arguments: list[Any] = [rows, times, np.array(shape, np.int64), np.array([*labels, 0], np.int32),
                 np.array([draw.choice([0.5, 1.0]) for _ in range(attributes)]), k, mode, values,
                 draw.choice([None, lambda counts: len(counts) % 3 > 0]), class_of]  # fmt: skip
    before, in_order = rows.copy(), None if times is None else times.copy()
    found = _partition.partition(*arguments)
    sizes = np.bincount(class_of, in_order, found)
    assert len(sizes) == found and (sizes >= min(k, n)).all()
    assert sorted(rows.tolist()) == sorted(before.tolist())
    hostile(draw, _partition.partition, [before, *arguments[1:]])


def mdav(draw: Draw) -> None:
    records, columns = draw.choice([1, 2, 3, 5, 40]), draw.randrange(1, 4)
    starts = np.concatenate([[0], np.cumsum([draw.randrange(1, 4) for _ in range(records)])]).astype(np.int64)
    rows = int(starts[-1])
    extremes = [0.0, 1.0, -1.0, 1e308, -1e308, np.inf, np.nan, 1e-308]
    kinds = extremes if draw.random() < 0.3 else [float(v) for v in range(9)]
    values = np.array([draw.choice(kinds) for _ in range(columns * records)])
    weights, k, class_of = np.ones(columns), draw.randrange(1, rows + 1), np.full(rows, -1, np.int32)
    arguments: list[Any] = [values, starts, weights, k, class_of]
    found = _mdav.mdav(values.copy(), starts, weights, k, class_of)
    sizes = np.bincount(class_of, minlength=found)
    assert len(sizes) == found and (sizes >= k).all() and (sizes < 2 * k).all()
    hostile(draw, _mdav.mdav, arguments)


# ---------------------------------------------------------------- levels


def advance(draw: Draw) -> None:
    n = length(draw)
    alive = draw.randrange(n + 1)
    rows = np.array(draw.sample(range(n), n), np.uint32)
    blocks, bound = words(draw, 2 * alive), draw.choice([1, 2**40, 2**61])
    somewhere = [draw.choice([bound, bound + 1, 2**62, draw.randrange(bound, 2**64)]) for _ in range(n)]
    places, counts = (
        np.array(somewhere, np.uint64),
        np.array([draw.choice([0, 1, 65_000]) for _ in range(n)], np.uint16),
    )
    before: list[Array] = [rows.copy(), places.copy(), counts.copy()]
    left = _levels.advance(blocks, rows, places, counts, alive, bound)
    assert 0 <= left <= alive and (counts >= before[2]).all() and (places[:left] >= bound).all()
    assert set(rows[:left].tolist()) <= set(before[0][:alive].tolist())
    hostile(draw, _levels.advance, [blocks, *before, alive, bound])


def marks(draw: Draw) -> None:
    n, size = max(1, length(draw)), size_of_domain(draw)
    m = draw.randrange(n + 1)
    rows = np.array(draw.sample(range(n), m), np.uint32)
    blocks, out = words(draw, 2 * m), codes(draw, n, size)
    left = _levels.uniform(blocks, rows.copy(), out, size)
    assert 0 <= left <= m and (out < size).all()
    bits = max(0, (size - 1).bit_length())
    table = np.zeros(1 << bits, np.uint64)
    _kernels.fill_alias(weights_of(draw, 1, size), size, table, bits)
    _levels.weighted(blocks, rows, out, table, bits)
    assert (out < size).all()
    hostile(draw, _levels.uniform, [blocks, rows, out, size])
    hostile(draw, _levels.weighted, [blocks, rows, out, table, bits])


def history(draw: Draw) -> None:
    """Levels are issued one after the other, in any order; each version is then looked up again."""
    n, levels = length(draw, 300), draw.randrange(1, 6)
    steps = np.array(draw.sample(range(1, 1000), levels), np.uint64)
    counts: Array = np.zeros(n, np.uint16)
    numbers: Array = np.zeros(0, np.uint32)
    values: Array = np.zeros(0, np.uint8)
    issued: list[tuple[int, Array]] = []
    for fresh in range(levels):
        version = codes(draw, n, 3, np.uint8)
        below = max((j for j, _ in issued if steps[j] < steps[fresh]), key=lambda j: steps[j], default=None)
        lower = next((v for j, v in issued if j == below), np.zeros(n, np.uint8))
        room = len(numbers) + 2 * n
        out: list[Array] = [np.zeros(n, np.uint16), np.zeros(room, np.uint32), np.zeros(room, np.uint8)]
        arguments: list[Any] = [
            counts,
            numbers,
            values,
            steps,
            fresh,
            version,
            below is not None,
            below or 0,
            lower,
            *out,
        ]
        entries = _levels.insert(*arguments)
        hostile(draw, _levels.insert, [*arguments[:9], *(array.copy() for array in out)])
        counts, numbers, values = out[0], out[1][:entries].copy(), out[2][:entries].copy()
        issued.append((fresh, version))
        for number, shown in issued:
            again = np.zeros(n, np.uint8)
            looked_up: list[Any] = [counts, numbers, values, steps, int(steps[number]), again]
            _levels.look_up(*looked_up)
            assert (again == shown).all()
        hostile(draw, _levels.look_up, looked_up)


# ---------------------------------------------------------------- the bound for shuffled releases


def grid(draw: Draw) -> None:
    """Mass that is split keeps its sum and both means, whatever the nodes are; sums of products are NumPy's."""
    chance, n, m, classes = np.random.default_rng(draw.randrange(2**32)), draw.randrange(2, 9), 5, length(draw, 50)
    columns, rows = np.sort(chance.random(n)), np.sort(chance.random(m))
    first, second = chance.uniform(columns[0], columns[-1], classes), chance.uniform(rows[0], rows[-1], classes)
    mass, split, moved = chance.random(classes), np.zeros((n, m)), np.zeros((n, m))
    arguments: list[Any] = [first, second, mass, columns, rows, split]
    _grid.split(*arguments)
    law: list[Array] = [np.array([0.5, 2.0]), np.array([2.0, 0.5]), np.array([0.5, 0.25])]
    wider = [np.linspace(0.5 * nodes[0], 2 * nodes[-1], len(nodes)) for nodes in (columns, rows)]
    _grid.times(split, columns, rows, law[0], law[1], law[2], wider[0], wider[1], moved)
    assert np.allclose(split.sum(1) @ columns, mass @ first) and np.allclose(split.sum(0) @ rows, mass @ second)
    assert np.allclose(moved.sum(1) @ wider[0], (law[0] @ law[2]) * (mass @ first))
    left, right = np.exp(1j * chance.random((n, 3))), np.exp(1j * chance.random((n, draw.choice([1, 64, 70]))))
    out = np.zeros((3, right.shape[1]), np.complex128)
    _grid.sum_of_products(left, right, n, out)
    assert np.allclose(out, left.T @ right)
    hostile(draw, _grid.split, arguments)
    hostile(draw, _grid.times, [split, columns, rows, *law, *wider, moved])
    hostile(draw, _grid.sum_of_products, [left.view(float), right.view(float), n, out.view(float)])


KERNELS: dict[str, Callable[[Draw], None]] = {
    "retain": retain,
    "retain_joint": retain_joint,
    "alias, fill_alias, shorten_alias": alias,
    "count_tags, place_tags, sort_buckets": order,
    "gather, tally of codes": gather,
    "pack_rows, gather_rows, translate": rows_packed,
    "pack, roll, tally of groups": classes,
    "draw": draw_values,
    "partition": partition,
    "mdav": mdav,
    "advance": advance,
    "uniform, weighted": marks,
    "look_up, insert": history,
    "split, times, sum_of_products": grid,
}


def attempt(name: str, seed: int) -> None:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            KERNELS[name](Draw(f"{name} {seed}"))
    except Exception as error:
        raise AssertionError(f"{name} {seed}: {type(error).__name__}: {error}") from error


def main(arguments: list[str]) -> None:
    if arguments:
        attempt(arguments[0], int(arguments[1]))
        return
    seconds, first = float(os.environ.get("FUZZ_SECONDS", "60")), int(os.environ.get("FUZZ_SEED", "0"))
    for name in KERNELS:
        until = time.monotonic() + seconds / len(KERNELS)
        for seed in itertools.count(first):
            if time.monotonic() > until:
                break
            attempt(name, seed)
        sys.stdout.write(f"{name}: {seed - first} cases\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
