"""Invariant releases: intruders at work on the file, and one from whom the matrix is withheld."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.broken import KEY, patched, unchanged

from pramana import release
from pramana.holder.audit.attacked import Attacked
from pramana.holder.audit.identification import blocks_of, identified_in_file, withheld_matrix
from pramana.holder.audit.linkage import LinkedTable
from pramana.holder.audit.verdict import Attack, NotRun
from pramana.mechanisms.invariant import Block, BlockInvariant
from pramana.mechanisms.table import ChannelGroup, Exchange
from pramana.methods.invariant.blocks import plan_blocks
from pramana.randomness.samplers import ONE
from pramana.run.trace import retraced

RARE, COMMON = 40, 80
IN_FILE = {"identification in the file, own count", "identification in the file, every count"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty jobs of two people each, and eighty of twenty: blocks enough to count on in one file."""
    folder = tmp_path_factory.mktemp("invariant")
    jobs = [f"rare {i:02d}" for i in range(RARE) for _ in range(2)]
    jobs += [f"common {i:02d}" for i in range(COMMON) for _ in range(20)]
    order = np.random.default_rng(3).permutation(len(jobs))
    (folder / "people.csv").write_text("job\n" + "".join(f"{jobs[i]}\n" for i in order))
    domain = ", ".join(f'"{job}"' for job in sorted(set(jobs)))
    (folder / "recipe.toml").write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "invariant"\nxi = 0.1\n'
        f'[attributes.job]\nrole = "quasi-identifying"\ndomain = [{domain}]\n'
    )
    release(folder / "recipe.toml", folder / "honest", key=KEY)
    with patched(("pramana.mechanisms.invariant.BlockInvariant.publish", unchanged)):
        release(folder / "recipe.toml", folder / "broken", key=KEY)
    return folder


def in_file(desk: Path, bundle: str) -> dict[str, Attack]:
    attacked = Attacked.of(retraced(desk / bundle, desk / "people.csv", KEY))
    table, every = attacked.table, attacked.number("identification-bound-every-count")
    assert (
        table is not None and every is not None and attacked.number("identification-bound") == pytest.approx(0.1)
    )
    return {o.name: o for o in identified_in_file(table, 0.1, every) if isinstance(o, Attack)}


def test_an_honest_release_keeps_to_xi_in_its_file(desk: Path) -> None:
    found = in_file(desk, "honest")
    assert set(found) == IN_FILE and all(attack.ok for attack in found.values())


def test_a_release_that_changes_nothing_is_caught_by_its_file_alone(desk: Path) -> None:
    found = in_file(desk, "broken")
    assert {name for name, attack in found.items() if not attack.ok} == IN_FILE
    assert found["identification in the file, own count"].measured > 0.3


def test_a_withheld_matrix_that_protects_no_one_is_found_out() -> None:
    """A law that keeps everything, under a claim of one tenth: the intruder needs no matrix to see it."""
    counts = [2, 30, 30, 30]
    true = {"job": np.repeat(np.arange(4, dtype=np.uint8), counts)}
    group = ChannelGroup(("job",), BlockInvariant(4, ()))
    found = withheld_matrix(
        Exchange({"job": 4}, (group,)), true, 0.1, lambda _, seen: plan_blocks(seen, "0.1").channel
    )
    assert isinstance(found, Attack) and not found.ok
    honest = plan_blocks(counts, "0.1").channel
    law = Exchange({"job": 4}, (ChannelGroup(("job",), honest),))
    found = withheld_matrix(law, true, 0.2, lambda _, seen: plan_blocks(seen, "0.1").channel)
    assert isinstance(found, Attack) and found.ok
    assert 0 < found.measured < 0.2 and 0 < found.more["with_the_matrix"] < 0.2


def test_blocks_are_what_is_exchanged() -> None:
    half = ONE // 2
    block = np.array([[half, half], [half, half]])
    channel = BlockInvariant(5, (Block((1, 3), block),))
    assert sorted(sorted(b.tolist()) for b in blocks_of(channel.weights / ONE)) == [[0], [1, 3], [2], [4]]


def test_who_is_right_in_every_file_there_could_be() -> None:
    """Two people of a value, three of the other, all that can be shown: right never where the person shows the
    other value, always where nobody else shows their own, and somewhere in between."""
    half = ONE // 2
    channel = BlockInvariant(2, (Block((0, 1), np.array([[half, half], [half, half]])),))
    law = Exchange({"a": 2}, (ChannelGroup(("a",), channel),))
    true: dict[str, Any] = {"a": np.array([0, 0, 1, 1, 1], np.uint8)}
    target = int(np.random.default_rng(20).choice([0, 1]))
    right = set()
    for code in range(32):
        shown = np.array([code >> i & 1 for i in range(5)], np.uint8)
        [own, _] = identified_in_file(LinkedTable(law, true, {"a": shown}, np.arange(5)), 1.0, 1.0)
        if not (shown == 0).any():
            assert isinstance(own, NotRun)
            continue
        assert isinstance(own, Attack)
        if shown[target] == 1:
            assert own.measured == 0
        elif (shown == 0).sum() == 1:
            assert own.measured == 1
        right.add(own.measured)
    assert right == {0.0, 1.0}
