"""The benchmark harness: turns, paired ratios, rows that say why they are empty, comparison with the last run."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import benchmarks
import pytest
from benchmarks import tables
from benchmarks.__main__ import store
from benchmarks.harness import Case, Comparison, Goal, Limit, Sample, measure

SLOW_SPELLS = (1.0, 1.0, 5.0, 2.0)  # the warm-up round, then three: the machine slows down and recovers


def timed(seconds: float, log: list[str], name: str) -> Callable[[], Sample]:
    def run() -> Sample:
        log.append(name)
        return Sample(seconds * SLOW_SPELLS[log.count(name) - 1], 64.0)

    return run


def broken() -> Sample:
    raise RuntimeError("no such luck")


def a_run() -> tuple[dict[str, Any], list[str]]:
    log: list[str] = []
    cases = (
        Case("plain", 1000, timed(1.0, log, "plain")),
        Case("ours", 1000, timed(0.25, log, "ours")),
        Case("few", 10, timed(0.1, log, "few")),
        Case("gone", 10, None, "not installed"),
        Case("broken", 10, broken),
    )
    goals = (Goal("ours", "plain", 3), Goal("ours", "plain", 5), Goal("ours", "gone", 2), Limit("ours", 0.6))
    return measure(Comparison("Title", "values", "plain", cases, goals), 3, lambda _: None), log


def test_cases_take_turns_and_the_first_round_is_dropped() -> None:
    part, log = a_run()
    assert log[:3] == ["plain", "ours", "few"] and log[3:6] == ["ours", "few", "plain"]
    assert part["rows"][0]["seconds"] == [1.0, 5.0, 2.0]


def test_ratios_are_taken_within_a_round_so_that_slow_spells_cancel() -> None:
    rows = {row["name"]: row for row in a_run()[0]["rows"]}
    assert rows["ours"]["speed"] == 4 and rows["ours"]["speed_range"] == [4, 4]
    assert rows["few"]["speed"] == pytest.approx(0.1)  # a tenth of the time for a hundredth of the work
    assert rows["ours"]["rate"] == 2000 and (rows["ours"]["slowest"], rows["ours"]["fastest"]) == (800, 4000)
    assert rows["ours"]["peak_mib"] == 64


def test_what_cannot_run_says_why_and_stops_nothing() -> None:
    rows = {row["name"]: row for row in a_run()[0]["rows"]}
    assert rows["gone"]["absent"] == "not installed"
    assert rows["broken"]["absent"] == "failed: RuntimeError: no such luck"


def test_goals_are_judged_both_ways() -> None:
    assert [goal["met"] for goal in a_run()[0]["goals"]] == [True, False, None, True]


def test_a_run_is_stored_and_compared_with_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.peers.ENVIRONMENTS", tmp_path / "none")
    run = {
        "command": "python -m benchmarks run",
        "when": "now",
        "machine": tables.machine(),
        "versions": {"a": "1"},
    }
    store(run | {"comparisons": [a_run()[0]]}, tmp_path)
    before = json.loads((tmp_path / "latest.json").read_text())
    before["comparisons"][0]["rows"][1]["speed"] = 3.2
    (tmp_path / "latest.json").write_text(json.dumps(before))
    store(run | {"comparisons": [a_run()[0]]}, tmp_path)
    after = json.loads((tmp_path / "latest.json").read_text())["comparisons"][0]["rows"]
    assert after[1]["against_last_run"] == pytest.approx(1.25) and "against_last_run" not in after[0]
    page = (tmp_path / "latest.md").read_text()
    assert page.strip() in capsys.readouterr().out
    assert "| gone | 10 | not installed |" in page and "**missed**" in page and "1.25x" in page


WORKERS = {"picture", "table_worker", "worker"}  # run by the peers' Pythons


@pytest.mark.parametrize("name", sorted({m.name for m in pkgutil.iter_modules(benchmarks.__path__)} - WORKERS))
def test_every_benchmark_loads(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def test_the_page_beside_arx_judges_both_ways() -> None:
    from benchmarks.arx import Row, page

    rows = [
        Row("fast", 0.1, 0.4, 3.0),
        Row("slow", 0.2, 0.3, 3.0),
        Row("alone", 0.2, None),
        Row("seen", 1.0, 0.5, None),
    ]
    assert [row.verdict for row in rows] == ["met", "**missed**", "", ""]
    shown = page(rows, "command", tables.machine(), [0.0, 0.0, 0.0])
    assert "1 of 2 bars are met. Missed: slow." in shown and "| 1.50x | 3x | **missed** |" in shown


def test_the_batch_engine_alone_and_the_shuffle_run(tmp_path: Path) -> None:
    """Their scripts run in processes of their own, where nothing else would show that a name is gone."""
    from benchmarks import scale, shuffle, whole

    recipe = scale._prepared(1_000, tmp_path)
    call: list[str | Path] = [sys.executable, "-c", scale.ENGINE, recipe, tmp_path / "out", "600000000", recipe]
    assert whole.child(call, True).seconds > 0
    shuffle.table(1_000, tmp_path / "table.parquet")
    call = [sys.executable, "-c", shuffle.OURS, tmp_path / "table.parquet", tmp_path / "o", "600000000", tmp_path]
    assert whole.child(call, True).seconds > 0


def test_many_rows_are_generated_released_and_verified_or_refused_before(tmp_path: Path) -> None:
    from benchmarks import billion

    steps = billion.steps(tmp_path, 3_000, "1GiB")
    assert [step["name"] for step in steps] == ["generate", "release", "verify"]
    assert all(step["seconds"] > 0 for step in steps) and 0 < steps[1]["peak_mib"] < 1024
    run = {"command": "c", "when": "now", "machine": tables.machine(), "versions": {"a": "1"}, "memory": "1GiB"}
    assert "# 3,000 rows within 1GiB" in billion.markdown(run | {"rows": 3_000, "steps": steps})
    with pytest.raises(SystemExit, match="GiB free"):
        billion.check_room(tmp_path, 10**15)


def test_the_stages_of_a_release_run_on_one_and_two_threads() -> None:
    from benchmarks import threads

    from pramana.rows.engines import CHUNK

    stages = threads.stages(1_000)
    machine = {name for name in stages if name.startswith("the machine")}
    stages = {name: work for name, work in stages.items() if name not in machine}
    found = [threads.measured(name, work, 1) for name, work in stages.items()]
    assert len(machine) == 3 and all(set(stage["wall"]) == {"1", "2"} for stage in found)
    run = {"command": "c", "when": "now", "machine": tables.machine(), "versions": {"a": "1"}, "rows": 1_000}
    shown = threads.markdown(run | {"stages": found})
    assert all(f"| {stage['name']} |" in shown for stage in found)
    taken = f"sample 7 columns, {CHUNK:,} rows at a time"
    assert taken in {stage["name"] for stage in found}, "the length the product takes is among those measured"


def test_frames_are_judged_round_by_round_beside_files() -> None:
    from benchmarks import frames

    of = {"files": [2.0, 4.0, 5.0]}
    of |= {
        name: [factor * s for s in of["files"]] for name, factor in zip(frames.FRAMES, (1.31, 1.2), strict=True)
    }
    run = {"command": "c", "when": "now", "machine": tables.machine(), "rows": 10, "rounds": 3}
    alone = {name: [0.25] * 3 for name in frames.ALONE}
    shown = frames.markdown(run | {"seconds": {"stated": of | alone, "from the data": of}})
    assert "| stated | a DataFrame of files | 4.00 | 5.24 | 1.31 | 1.31 | 1.31 |" in shown
    assert "dropped by Spark 0.25 s, dropped by Python 0.25 s, written to Parquet by Spark 0.25 s." in shown
    assert (
        "their release takes 1.13 times, domains stated, 1.13 times, domains from the data." in shown
    )  # 4.8 / 4.25


def test_what_the_runs_of_a_cluster_tell(tmp_path: Path) -> None:
    """Made-up runs whose law is known: 2 s that nobody shares, 30 s a million rows for a worker."""
    from benchmarks import cluster

    def run(workers: int, way: str, rows: int, share: float = 1.0) -> cluster.Run:
        seconds = 2 + 30e-6 * rows / workers / share * (1.2 if way == "a DataFrame" else 1)
        used = {"driver": rows * 1e-6, "executors": rows * 3e-5}
        return cluster.Run(workers, way, rows, seconds, idle=2.0, waits=2.0 * workers, **used, share=share)

    sizes = [10**6, 3 * 10**6, 10**7]
    runs = [run(2, way, n) for way in ("one file", "a DataFrame") for n in sizes for _ in range(3)]
    runs += [run(1, way, sizes[-1]) for way in ("one file", "a DataFrame") for _ in range(3)]
    unslowed = cluster.summary(runs)
    assert unslowed["ways"]["one file"]["slowed"] is None
    runs += [run(n, way, sizes[1], 0.4) for way in ("one file", "a DataFrame") for n in (1, 2) for _ in range(3)]
    told = cluster.summary(runs)
    assert told["ways"]["one file"]["slowed"]["gains"] == pytest.approx([227 / 114.5] * 3)
    assert list(told["ways"]) == ["one file", "a DataFrame"]
    one = told["ways"]["one file"]
    assert one["serial_share"] == pytest.approx(2 / 302) and one["pauses_share"] == 0
    paused = [replace(run, idle=run.idle + 1) if run.workers == 1 else run for run in runs]
    assert cluster.summary(paused)["ways"]["one file"]["pauses_share"] == pytest.approx(1 / 302)
    idle = [replace(run, idle=run.idle + 1) if run.workers == 2 else run for run in runs]
    assert cluster.summary(idle)["ways"]["one file"]["serial_share"] == pytest.approx(3 / 302)
    assert (one["not_halved"], one["waiting"]) == pytest.approx((2 / 302, 2 / 302))
    assert one["slower_tasks"] == pytest.approx(0)
    late = [replace(run, waits=run.waits + 3) if run.workers == 2 else run for run in runs]
    assert cluster.summary(late)["ways"]["one file"]["serial_share"] == pytest.approx(5 / 302)
    assert one["workers"]["2"]["rows_per_second_and_core"] == pytest.approx(10**7 / 152 / 2)
    assert one["workers"]["1"]["idle_seconds"] == 2
    assert one["workers"]["2"]["cores_busy"] == pytest.approx(310 / 152)
    assert (one["line"]["fixed"], one["line"]["per_row"]) == pytest.approx((2, 15e-6))
    assert all(abs(off) < 1e-9 and nobody == 2 for _, _, off, nobody in one["sizes"])
    assert told["frame_to_file"] == pytest.approx(182 / 152)
    files = cluster.summary([run for run in runs if run.way == "one file"])
    assert files["frame_to_file"] is None and files["ways"] == {"one file": one}
    host = {"processor": "x", "cores": 2, "load_before": [0.0]}
    of = {"machine": host, "command": "c", "when": "now", "rounds": 3}
    assert "None was slowed: no root" in cluster.markdown(of | {"summary": unslowed, "why_none_slowed": "no root"})
    page = cluster.markdown(of | {"summary": told, "why_none_slowed": ""})
    assert (
        "| one file | 227.00 s | 114.50 s | 1.98x, 1.98x, 1.98x | 0.9% (waiting 0.9%, slower tasks 0.0%) |" in page
    )
    halved = "not halved 0.7% (waiting 0.7%, slower tasks 0.0%)"
    assert f"one file: serial part 0.7% (goal: below 2%, met); a worker's pauses 0.0%; {halved}." in page
    assert "A DataFrame takes 1.20 times as long as a file (goal: at most 1.3, met)" in page
    assert list(cluster.more({1: 5.0, 2: 9.0}, {1: 6.0, 3: 0.5})) == [1.0, 0.5], "one that has ended took nothing"
    (tmp_path / "app-1").write_text(
        "\n".join(
            json.dumps(
                {
                    "Event": "SparkListenerTaskEnd",
                    "Task Info": {"Launch Time": a, "Finish Time": b + 100},
                    "Task Metrics": dict(zip(cluster._BUSY, (10, b - a - 30, 20), strict=True)),
                }
            )
            for a, b in [(500, 1500), (1200, 2000), (1300, 1400), (3000, 9000)]
        )
    )
    assert cluster.task_seconds(tmp_path, 1.0, 3.0) == pytest.approx((1.0, 0.5 + 0.8 + 0.1 + 1.0))
