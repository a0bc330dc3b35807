"""What a run leaves behind: one JSON for machines, one Markdown page for people, compared with the run before."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pramana

PACKAGES = ("numpy", "pyarrow", "cryptography")


def machine() -> dict[str, Any]:
    names = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory[0] / 2**20, 1) if memory else None,
        "system": f"{platform.system()} {platform.release()}",
        "load_before": [round(x, 2) for x in os.getloadavg()],
    }


def _lines(path: str) -> list[str]:
    place = Path(path)
    return place.read_text().splitlines() if place.exists() else []


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "pramana": pramana.__version__}
    return found | {name: importlib.metadata.version(name) for name in PACKAGES}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def with_changes(run: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """Add to each row how its speed relative to its reference changed: 1.1 is ten per cent faster than then."""
    then = {
        (part["title"], row["name"]): row["speed"]
        for part in (before or {}).get("comparisons", ())
        for row in part["rows"]
        if "speed" in row
    }
    for part in run["comparisons"]:
        for row in part["rows"]:
            old = then.get((part["title"], row["name"]))
            if old and "speed" in row and row["name"] != part["reference"]:
                row["against_last_run"] = row["speed"] / old
    return run


def circumstances(run: dict[str, Any]) -> list[str]:
    """What was run, when, where and with what: the lines that a page of figures begins with."""
    host = run["machine"]
    load = ", ".join(map(str, host["load_before"]))
    return [
        f"`{run['command']}`, {run['when']}. {host['processor']}, {host['cores']} cores, {host['memory_gib']} GiB,"
        f" {host['system']}; load before the run {load}.",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in run["versions"].items()) + ".",
    ]


def markdown(run: dict[str, Any]) -> str:
    lines = [
        "# Benchmarks",
        "",
        *circumstances(run),
        "",
        "Medians over the rounds, in which all take turns; in brackets the slowest and the fastest. *Speed* is "
        "relative to the comparison's first row, taken within each round (median, smallest to largest).",
    ]
    for part in run["comparisons"]:
        lines += ["", f"## {part['title']} ({part['rounds']} rounds)", "", *_table(part)]
        if part["goals"]:
            lines += ["", *_goals(part["goals"])]
    return "\n".join(lines) + "\n"


def _table(part: dict[str, Any]) -> list[str]:
    peaks = any("peak_mib" in row for row in part["rows"])
    changes = any("against_last_run" in row for row in part["rows"])
    head = ["what", part["unit"], "seconds", f"{part['unit']} per second", "speed"]
    head += ["peak memory"] * peaks + ["against last run"] * changes
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for row in part["rows"]:
        if "absent" in row:
            cells = [row["name"], f"{row['work']:,}", row["absent"]]
        else:
            low, high = row.get("speed_range", (None, None))
            cells = [
                row["name"],
                f"{row['work']:,}",
                short(row["work"] / row["rate"]),
                f"{short(row['rate'])} ({short(row['slowest'])} to {short(row['fastest'])})",
                f"{short(row['speed'])}x ({short(low)} to {short(high)})" if "speed" in row else "",
            ]
            cells += [f"{row['peak_mib']:,} MiB" if "peak_mib" in row else ""] * peaks
            cells += [f"{row['against_last_run']:.2f}x" if "against_last_run" in row else ""] * changes
        lines.append("| " + " | ".join(cells + [""] * (len(head) - len(cells))) + " |")
    return lines


def _goals(goals: list[dict[str, Any]]) -> list[str]:
    """One line a subject: what was found, what was wanted."""
    lines: dict[str, list[str]] = {}
    for goal in goals:
        lines.setdefault(goal["subject"], []).append(_goal(goal))
    return [f"- {subject}: {'; '.join(found)}." for subject, found in lines.items()]


def _goal(goal: dict[str, Any]) -> str:
    verdict = {True: "met", False: "**missed**", None: "not measured"}[goal["met"]]
    found = goal["found"]
    if "at_most_seconds" in goal:
        return f"{'?' if found is None else short(found)} s (goal: at most {goal['at_most_seconds']} s, {verdict})"
    if goal["at_least"] < 1:
        wanted, taken = 1 / goal["at_least"], "?" if found is None else short(1 / found)
        return f"{taken}x the time of {goal['against']} (goal: at most {short(wanted)}x, {verdict})"
    speed = "?" if found is None else short(found)
    return f"{speed}x {goal['against']} (goal: {goal['at_least']:g}x, {verdict})"


def short(number: float) -> str:
    """Three digits, with M for millions and k for thousands."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}" if number < 1000 * size else f"{number / size:,.0f}{letter}"
    return f"{number:.3g}"
