"""A generated census and releases of it before anonymeter, sdmetrics and syntheval.

The broken release states what the honest one of k = 20 does; four of its seven columns are published as they are.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.judges.synthetic import allowed
from benchmarks.peers import prepare, python_of
from pramana import Key, datasets, release, synthesise
from pramana.mechanisms.table import Product

RECORDS = 5_000
SECRET = "income"
KEY = Key(bytes(range(32)))  # fixed, so that a run can be repeated; the people are generated
WORKER = Path(__file__).with_name("worker.py")
JUDGES = ("anonymeter", "anonymeter defaults", "sdmetrics", "sdmetrics privacy", "syntheval", "syntheval privacy")
LEFT_OPEN = ("sex", "age", "education", SECRET)
TOLD = {
    "original": "the table itself, as if nothing were done",
    "broken, k = 20 claimed": "four of seven columns published as they are",
    "k = 2": "each column by its own coin, at face value",
    "k = 20": "the same",
    "k = 2, synthesised": "records drawn from what the release of k = 2 tells",
}


def tables_of(folder: Path) -> tuple[dict[str, Path], dict[str, dict[str, float]]]:
    """The tables that are judged, and what the certificate of each lets an intruder gain."""
    people = datasets.census(RECORDS, seed=1)
    people.write_csv(folder / "original.csv")
    datasets.census(RECORDS, seed=2).write_csv(folder / "control.csv")
    for k in (2, 20):
        people.write_recipe(folder / f"k{k}.toml", source="original.csv", k=k)
        text = (folder / f"k{k}.toml").read_text().replace('"parquet"', '"csv"')
        (folder / f"k{k}.toml").write_text(text)
        release(folder / f"k{k}.toml", folder / f"k{k}", key=KEY, even_if_useless=True)
    with mock.patch.object(Product, "publish", _half_published):
        release(folder / "k20.toml", folder / "broken", key=KEY, even_if_useless=True)
    synthesise(folder / "k2", folder / "synthetic.csv")
    tables = dict(
        zip(TOLD, ("original.csv", "broken/data.csv", "k2/data.csv", "k20/data.csv", "synthetic.csv"), strict=True)
    )
    claims = {name: allowed(folder / bundle) for name, bundle in
              zip(list(TOLD)[1:], ("broken", "k2", "k20", "k2"), strict=True)}  # fmt: skip
    return {name: folder / place for name, place in tables.items()}, claims


def _half_published(self: Product, streams: Any, first: int, codes: Any, out: Any) -> None:
    for name, channel in self.channels.items():
        if name in LEFT_OPEN:
            out[name][:] = codes[name]
        else:
            channel.publish(streams("value", name).words(first, len(codes[name])), codes[name], out[name])


def asked(judge: str, original: Path, table: Path, control: Path) -> dict[str, Any]:
    paths = [str(original), str(table), str(control)]
    command = [str(python_of(judge.split()[0])), str(WORKER), judge, *paths, SECRET]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = done.stderr.strip().splitlines()[-1:] or ["it ended without a word"]
        raise RuntimeError(f"{judge}: {words[0]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def judged() -> dict[str, Any]:
    prepare(tuple(dict.fromkeys(judge.split()[0] for judge in JUDGES)))
    rows: dict[str, dict[str, dict[str, float]]] = {judge: {} for judge in JUDGES}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        tables, claims = tables_of(Path(place))
        for judge in JUDGES:
            for name, table in tables.items():
                print(f"{judge} on {name}", file=sys.stderr, flush=True)
                answer = asked(judge, tables["original"], table, Path(place) / "control.csv")
                versions[judge.split()[0]] = answer["version"]
                rows[judge][name] = {metric: round(float(v), 4) for metric, v in answer["found"].items()}
    return {"records": RECORDS, "versions": versions, "claims": claims, "judges": rows}


# ---------------------------------------------------------------- the page

MEASURES = {
    "anonymeter": (
        "Three attacks of the European data protection authorities' opinion (Giomi et al. 2023): a "
        "predicate that fits "
        "one person of the original, two halves of a record that belong together, and the secret of the nearest "
        "published record; 300 attacks of each, 20,000 tries at a predicate. A risk is how much more often they "
        "succeed than on people of a control table, with the upper end of its 95% interval.",
    ),
    "anonymeter defaults": ("Singling out by its own defaults: 500 predicates of three columns each.",),
    "sdmetrics": (
        "How like the original single columns and pairs of columns are. It measures quality, not privacy.",
    ),
    "sdmetrics privacy": (
        "1 is the safest. Guesses of the secret from three known columns (CAP), rows that are in no "
        "original, and the "
        "distance to the closest record, against random rows and against the control; of 1,000 rows.",
    ),
    "syntheval": (
        "Distances of distributions and of mutual information, whether a classifier tells the tables "
        "apart, nearest "
        "neighbours; of 2,000 rows. It measures quality, but for `priv_loss_nnaa`.",
    ),
    "syntheval privacy": (
        "Median distance to the closest record, hits, identifiability, membership by a random forest, nearest "
        "neighbours against the control; of 1,000 rows.",
    ),
}


def lines_of(found: Mapping[str, Any]) -> list[str]:
    lines = [
        f"A generated census of {found['records']:,} people with seven columns, {found['records']:,} "
        "others as control; "
        f"the secret is {SECRET}. " + "; ".join(f"*{name}*: {told}" for name, told in TOLD.items()) + ".",
        "",
        "What the certificates allow: "
        + "; ".join(
            f"{name}: a link with a chance of {claim['link']:.3g}"
            + (f", an advantage over the control of {claim['advantage']:.3g}" if "advantage" in claim else "")
            for name, claim in found["claims"].items()
        )
        + ".",
    ]
    for judge, rows in found["judges"].items():
        metrics = [m for m in next(iter(rows.values())) if not m.endswith(", up to")]
        lines += ["", f"### {judge} {found['versions'][judge.split()[0]]}", "", *MEASURES[judge], "",
                  "| table | " + " | ".join(metrics) + " |", "|---" + "|---:" * len(metrics) + "|"]  # fmt: skip
        for name, row in rows.items():
            lines.append(f"| {name} | " + " | ".join(_shown(row, metric) for metric in metrics) + " |")
    return lines


def _shown(row: Mapping[str, float], metric: str) -> str:
    top = f" (up to {row[f'{metric}, up to']:.3f})" if f"{metric}, up to" in row else ""
    return f"{row.get(metric, float('nan')):.3f}{top}"
