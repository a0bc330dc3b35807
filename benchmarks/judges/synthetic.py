"""Synthetic records before third parties: sdmetrics and syntheval judge the quality, anonymeter the privacy.

    python -m benchmarks.judges.synthetic [--adult adult.csv] [--out docs/experiments/synthesis.md]

Four tables stand before them: the original itself, the release read at face value, the records that `pramana
synthesise` draws from it, and a baseline whose columns are drawn independently of each other from the original.
Each judge has an environment of its own under .venv-bench.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import prepare, python_of
from pramana import Bundle, Recipe, datasets, release, synthesise

JUDGES = ("sdmetrics", "syntheval", "anonymeter")
WORKER = Path(__file__).with_name("worker.py")
FEW = 4_000  # people of a release whose privacy is judged: the fewer, the more of them are unique
Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Trial:
    """A table, its columns with their domains, and who of it is released; the others are the control."""

    name: str
    domains: Mapping[str, Sequence[str]]
    columns: Columns
    released: int
    k: float
    secret: str


def trials(adult: Path | None, records: int) -> list[Trial]:
    people = datasets.census(records + records // 10, seed=1)
    named = {n: [people.domain(n)[c] for c in people.column(n)] for n in people.names}
    four = ["sex", "age", "worked_last_year", "income"]
    every = [*four[:3], "worked_last_week", "education", "travel_time", "income"]
    found = [Trial("generated census, four columns", *_of(people, named, four), records, 2, "income")]
    if adult is not None:
        rows = list(csv.DictReader(adult.open()))
        order = np.random.default_rng(1).permutation(len(rows))
        columns = {n: [rows[i][n] for i in order] for n in ("sex", "education", "marital-status", "salary-class")}
        domains = {n: sorted(set(values)) for n, values in columns.items()}
        found.append(Trial("Adult, four columns", domains, columns, len(rows) * 4 // 5, 2, "salary-class"))
    found.append(Trial("generated census, seven columns", *_of(people, named, every), records, 2, "income"))
    return found


def _of(people: Any, named: Columns, wanted: Sequence[str]) -> tuple[Columns, Columns]:
    return {n: list(people.domain(n)) for n in wanted}, {n: named[n] for n in wanted}


def judged(trial: Trial, folder: Path) -> dict[str, Any]:
    """Every table before every judge: quality of the whole release, privacy of one of few people."""
    rows: dict[str, dict[str, float]] = {}
    versions: dict[str, str] = {}
    bound: dict[str, float] = {}
    parts = {"quality": (trial.released, ("sdmetrics", "syntheval")), "privacy": (FEW, ("anonymeter",))}
    for part, (records, judges) in parts.items():
        place = folder / part
        place.mkdir()
        tables = tables_of(trial, records, place)
        bound = allowed(place / "bundle")
        for name, table in tables.items():
            for judge in judges:
                print(f"{trial.name}: {judge} on {name}", file=sys.stderr, flush=True)
                answer = _ask(judge, place, table, trial.secret)
                versions[judge] = answer.get("version", "")
                rows.setdefault(name, {}).update(answer["found"])
    return {"trial": trial, "rows": rows, "versions": versions, "allowed": bound}


def tables_of(trial: Trial, records: int, folder: Path) -> dict[str, Path]:
    """The tables that are judged, of the first `records` people; those after the released ones are the control."""
    _write(folder / "original.csv", {name: v[:records] for name, v in trial.columns.items()})
    last = {name: v[trial.released : trial.released + max(records, FEW)] for name, v in trial.columns.items()}
    _write(folder / "control.csv", last)
    recipe = {
        "source": {"path": str(folder / "original.csv")},
        "release": {"k": trial.k},
        "attributes": {
            name: {"role": "quasi-identifying", "domain": list(domain)} for name, domain in trial.domains.items()
        },
        "output": {"format": "csv"},
    }
    release(Recipe.parse(recipe, folder), folder / "bundle", seed=1)
    synthesise(folder / "bundle", folder / "synthetic.csv")
    draw = np.random.default_rng(2)
    _write(
        folder / "independent.csv",
        {name: draw.choice(np.array(v[:records], object), records).tolist() for name, v in trial.columns.items()},
    )
    return {
        "original": folder / "original.csv",
        "face value": folder / "bundle" / "data.csv",
        "synthesised": folder / "synthetic.csv",
        "independent columns": folder / "independent.csv",
    }


def _ask(judge: str, folder: Path, table: Path, secret: str) -> dict[str, Any]:
    paths = [str(folder / "original.csv"), str(table), str(folder / "control.csv")]
    done = subprocess.run(
        [str(python_of(judge)), str(WORKER), judge, *paths, secret], capture_output=True, text=True, check=False
    )
    if done.returncode:
        words = done.stderr.strip().splitlines()[-1:] or ["it ended without a word"]
        print(f"{judge} failed: {words[0]}", file=sys.stderr)
        return {"found": {}}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def allowed(bundle: Path) -> dict[str, float]:
    """What the certificate lets an intruder gain.

    A link is right with a chance of at most 1/k. An attack succeeds on people of the table more often than on
    others by at most (e^epsilon - 1 + 2 delta)/(e^epsilon + 1), with the central epsilon and delta of the shuffled
    release.
    """
    found = {}
    for guarantee in Bundle.open(bundle).certificate.guarantees:
        value = guarantee["value"]
        if guarantee["notion"] == "pk-anonymity":
            found["link"] = 1 / float(value)
        elif isinstance(value, Mapping) and "delta" in value:
            grown = math.exp(float(value["epsilon"]))
            found["advantage"] = (grown - 1 + 2 * float(value["delta"])) / (grown + 1)
    return found


def _write(path: Path, columns: Columns) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def page(results: Sequence[dict[str, Any]], command: str) -> str:
    versions = {name: v for result in results for name, v in result["versions"].items() if v}
    lines = [
        "# Synthetic records before other people's judges",
        "",
        f"    {command}",
        "",
        "Judges, each in an environment of its own: "
        + ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
        + ". sdmetrics looks at the whole tables, syntheval at 2,000 records of them. anonymeter looks at a "
        f"release of the first {FEW:,} people, of whom more are unique; it runs each attack 300 times, with up to "
        "20,000 attempts at a predicate that singles someone out.",
        "",
        "- quality, columns, pairs: sdmetrics' quality report; 1 is the original.",
        "- avg_h_dist (Hellinger distance), mutual_inf_diff (differences of mutual information, summed), avg_pMSE "
        "(whether a classifier tells the two apart; 0: not at all), nnaa (adversarial accuracy of nearest "
        "neighbours), priv_loss_nnaa (how much better it is on the original than on the control): syntheval.",
        "- singling out, linkability, inference: anonymeter's risks above those of people who are not in the "
        "table, with the upper end of their 95% interval.",
        "",
    ]
    for result in results:
        lines += _section(result)
    return "\n".join(lines) + "\n"


def _section(result: dict[str, Any]) -> list[str]:
    trial: Trial = result["trial"]
    rows: dict[str, dict[str, float]] = result["rows"]
    metrics = [m for m in dict.fromkeys(m for row in rows.values() for m in row) if not m.endswith(", up to")]
    bound = result["allowed"]
    lines = [
        f"## {trial.name}",
        "",
        f"{trial.released:,} records released at k = {trial.k:g}, "
        f"{len(next(iter(trial.columns.values()))) - trial.released:,} others as control; the secret is "
        f"{trial.secret}.",
        "",
        "| table | " + " | ".join(metrics) + " |",
        "|---|" + "---|" * len(metrics),
    ]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(_shown(row, metric) for metric in metrics) + " |")
    synthetic = rows["synthesised"]
    ratio = synthetic.get("quality", math.nan) / rows["original"].get("quality", math.nan)
    top = {name: v for name, v in synthetic.items() if name.endswith(", up to")}
    risks = [synthetic[name.removesuffix(", up to")] for name in top]
    lines += [
        "",
        f"Quality is {ratio:.3f} of the original's. The guarantee allows a link with a chance of "
        f"{bound['link']:.3f}"
        + (f", and an advantage over the control of {bound['advantage']:.3f}" if "advantage" in bound else "")
        + f"; the largest risk that was measured is {max(risks, default=math.nan):.3f}, the largest upper end of "
        f"an interval {max(top.values(), default=math.nan):.3f}.",
        "",
    ]
    return lines


def _shown(row: Mapping[str, float], metric: str) -> str:
    if metric not in row:
        return "failed"
    top = f" (up to {row[f'{metric}, up to']:.3f})" if f"{metric}, up to" in row else ""
    return f"{row[metric]:.3f}{top}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path, default=None, help="Adult as a CSV with a header")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--only", default="", help="tables whose name has this in it")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    prepare(JUDGES)
    results: list[dict[str, Any]] = []
    command = "python -m benchmarks.judges.synthetic" + (" --adult adult.csv" if options.adult else "")
    for trial in (t for t in trials(options.adult, options.records) if options.only in t.name):
        with tempfile.TemporaryDirectory() as folder:
            results.append(judged(trial, Path(folder)))
        text = page(results, command + f" --records {options.records}")
        if options.out is not None:
            options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
