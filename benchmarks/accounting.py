"""The certified central epsilon beside what a table needs, other bounds and other accountants; and what it costs.

    python -m benchmarks.accounting [--prepare] [--into FOLDER]

- *needed*: the delta of one table in which everybody but the target holds a third value, solved for epsilon. No
  bound can be below it. By the same sum on a vertical line, over that table's own law.
- *Hoeffding*, *Bennett*: the privacy blanket with these inequalities in place of the sum (Balle, Bell, Gascón and
  Nissim 2019).
- *clones*: Feldman, McMillan, Talwar 2021, Theorem 3.1, as a sum; *closed form*: its formula (arXiv
  2012.12803) as the authors' code computes it, where it applies.
- dp-accounting has no shuffling; given the two laws of the clones as tables of probabilities (up to 1,000 records)
  its accountant must agree with our sum. OpenDP has randomised response and amplification by sampling, none by
  shuffling: its local epsilon is what it certifies. Each lives in an environment of its own (--prepare).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks import peers, tables
from pramana.mechanisms.channel import Blankets, Dense, Retention, central_epsilon
from pramana.mechanisms.guarantees import Circumstances
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.theory import blanket, pk, shuffling

RESULTS = Path(__file__).resolve().parent / "results"
HEADINGS = ("law", "records", "delta", "local", "needed", "Pramana", "over needed", "Bennett", "Hoeffding",
            "clones", "closed form", "dp-accounting, clones", "OpenDP, local", "ms")  # fmt: skip
DP_ACCOUNTING = """
import json, math, sys
from dp_accounting.pld import privacy_loss_distribution as pld
order = json.load(sys.stdin)
n, p = order["records"], order["ratio"]
log_choose = lambda a, b: math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(a - b + 1)
first, second = {}, {}
for clones in range(n):
    thick = log_choose(n - 1, clones) - clones * math.log(p) + (n - 1 - clones) * math.log1p(-1 / p)
    if thick < -60:
        continue
    half = [thick + log_choose(clones, i) - clones * math.log(2) for i in range(clones + 1)]
    for i in range(clones + 2):
        on = math.exp(half[i - 1]) if i else 0.0
        off = math.exp(half[i]) if i <= clones else 0.0
        a, b = (p * on + off) / (p + 1), (on + p * off) / (p + 1)
        if min(a, b) > 0:
            first[clones, i], second[clones, i] = math.log(a), math.log(b)
law = pld.from_two_probability_mass_functions(first, second, value_discretization_interval=1e-4)
print(json.dumps([law.get_epsilon_for_delta(d) for d in order["deltas"]]))
"""
OPENDP = """
import json, sys
import opendp.prelude as dp
dp.enable_features("contrib")
order = json.load(sys.stdin)
print(json.dumps(dp.m.make_randomized_response(list(range(order["size"])), order["keep"]).map(1)))
"""


@dataclass(frozen=True)
class Law:
    """A law to certify; `third` is its worst pair over the law of a third value, where one is known."""

    name: str
    mechanism: Mechanism
    third: blanket.Blanket | None = None
    retention: Fraction | None = None
    size: int = 0

    @property
    def ratio(self) -> Fraction:
        ratio = self.mechanism.likelihood_ratio
        assert ratio is not None
        return ratio

    @property
    def blankets(self) -> Blankets:
        blankets = self.mechanism.blankets
        assert blankets is not None
        return blankets


def over_a_third_value(rho: Fraction, sizes: list[int]) -> blanket.Blanket:
    """u and v over the law of a record that differs from both where it can: the blanket is all of it."""
    first, second, mass = np.ones(1), np.ones(1), np.ones(1)
    for size in sizes:
        q, d = float((1 - rho) / size), float(rho + (1 - rho) / size)
        u, v, x = (np.array([d, q]), np.array([q, d]), np.array([d, q]))
        if size > 2:
            rest = (size - 3) * q
            u, v, x = (np.array([*law, rest]) for law in ((d, q, q), (q, d, q), (q, q, d)))
        used = x > 0
        first, second, mass = np.kron(first, (u / x)[used]), np.kron(second, (v / x)[used]), np.kron(mass, x[used])
    return blanket.Blanket(1.0, first, second, mass)


def retention(rho: Fraction, size: int) -> Law:
    mechanism = Product({"a": Retention.at(rho, size)})
    return Law(f"retention {float(rho):.2g}, V = {size}", mechanism, over_a_third_value(rho, [size]), rho, size)


def laws() -> list[tuple[Law, int]]:
    """Laws and numbers of records."""
    cases = [(retention(Fraction(1, 2), v), n) for v in (2, 10, 100) for n in (1000, 100_000, 10_000_000, 10**9)]
    sizes = {"a": 2, "b": 5, "c": 10}
    rho = pk.retention_for_pk(100_000, list(sizes.values()), 100)
    each = Product({n: Retention.at(rho, v) for n, v in sizes.items()})
    assert each.likelihood_ratio is not None
    joint = (each.likelihood_ratio - 1) / (each.likelihood_ratio + 99)
    one = RecordRetention.at(joint, sizes)
    cases.append(
        (Law("V = (2,5,10), k = 100, coin per attribute", each, over_a_third_value(rho, [2, 5, 10])), 100_000)
    )
    cases.append((Law("the same, coin per record", one, over_a_third_value(joint, [100]), joint, 100), 100_000))
    rng = np.random.default_rng(1)
    near = np.exp(-0.5 * np.abs(np.subtract.outer(np.arange(10), np.arange(10))))
    near /= near.sum(axis=1, keepdims=True)
    mixed = 0.8 * rng.dirichlet(np.ones(20), 20) + 0.2 / 20
    for name, matrix in (("matrix, 10 values in order", near), ("matrix, 20 values at random", mixed)):
        cases += [(Law(name, Product({"a": Dense.of(matrix)})), n) for n in (1000, 100_000)]
    return cases


# ---------------------------------------------------------------- other bounds


def smallest(log_delta: Callable[[float], float], delta: float, local: float) -> float | None:
    """By bisection; None where the bound does not reach delta below the local epsilon."""
    low, high = 1e-9, local
    if not log_delta(high * (1 - 1e-9)) <= math.log(delta):
        return None
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if log_delta(middle) <= math.log(delta) else (middle, high)
    return high


def blanket_by_inequality(records: int, law: blanket.Blanket, bennett: bool) -> Callable[[float], float]:
    """E[S+] of the sum over m blanket records by integrating a tail bound, averaged over m in closed form."""

    def log_delta(epsilon: float) -> float:
        a, values = math.expm1(epsilon), law.first - math.exp(epsilon) * law.second
        if bennett:
            highest, square = float(values.max()), float(values**2 @ law.mass)
            beta = a * highest / square
            rate, before = square / highest**2 * ((1 + beta) * math.log1p(beta) - beta), highest / math.log1p(beta)
        else:
            width = float(np.ptp(values))
            rate, before = 2 * a**2 / width**2, width**2 / (4 * a)
        averaged = records * math.log1p(law.weight * math.expm1(-rate))
        return averaged + math.log(before) - math.log(records * law.weight)

    return log_delta


def closed_form_of_clones(records: int, ratio: float, delta: float) -> float | None:
    """As the authors' own code has it (github.com/apple/ml-shuffling-amplification, closedformanalysis).

    Its denominator is 1 + e^(-eps0 - e), a little below the 1 + e^-eps0 of the theorem as it is often quoted, and
    it asks for eps0 <= ln(n/(16 ln(4/delta))): both on the safe side.
    """
    if math.log(ratio) > math.log(records / (16 * math.log(4 / delta))):
        return None
    inner = 8 * math.sqrt(ratio * math.log(4 / delta) / records) + 8 * ratio / records
    return math.log1p((1 - 1 / ratio) / (1 + 1 / (ratio * (1 + inner))) * inner)


# ---------------------------------------------------------------- other accountants


def asked(environment: str, script: str, **order: object) -> object:
    if not (peers.ENVIRONMENTS / environment / ".installed").exists():
        return None
    run = subprocess.run(
        [peers.python_of(environment), "-c", script],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def row(law: Law, records: int, delta: float, clones_elsewhere: object) -> dict[str, object]:
    ratio = law.ratio
    local = math.log(ratio)
    start = time.process_time()
    certified, _ = central_epsilon(law.blankets, ratio, records, delta)
    spent = 1000 * (time.process_time() - start)
    needed = None
    if law.third is not None:
        needed = shuffling.shuffled_epsilon(records, ratio, law.third, delta)
    single = [one for one in law.blankets if isinstance(one, blanket.Blanket)]
    other = (
        asked("opendp", OPENDP, size=law.size, keep=float(law.retention + (1 - law.retention) / law.size))
        if (law.retention is not None and records == 1000)
        else None
    )
    return {
        "law": law.name,
        "records": records,
        "delta": delta,
        "local": local,
        "needed": needed,
        "Pramana": certified,
        "over needed": certified / needed if needed else None,
        "Bennett": smallest(blanket_by_inequality(records, single[0], True), delta, local) if single else None,
        "Hoeffding": smallest(blanket_by_inequality(records, single[0], False), delta, local) if single else None,
        "clones": shuffling.shuffled_epsilon(records, ratio, blanket.blanket_of_ratio(float(ratio)), delta),
        "closed form": closed_form_of_clones(records, float(ratio), delta),
        "dp-accounting, clones": clones_elsewhere,
        "OpenDP, local": other,
        "ms": spent,
    }


def compared() -> list[dict[str, object]]:
    rows, deltas = [], (1e-6, 1e-9, 1e-12)
    for law, records in laws():
        elsewhere: object = None
        if records <= 1000:
            elsewhere = asked(
                "dp-accounting", DP_ACCOUNTING, records=records, ratio=float(law.ratio), deltas=deltas
            )
        for i, delta in enumerate(deltas):
            rows.append(row(law, records, delta, elsewhere[i] if isinstance(elsewhere, list) else None))
    return rows


def calibrations() -> list[dict[str, object]]:
    """Retention for a central epsilon: what it is, and the processor time of the middle one of nine runs."""
    rows: list[dict[str, object]] = []
    eight = [9, 5, 16, 7, 14, 6, 5, 2]
    twelve = [*eight, 3, 11, 4, 8]
    for sizes in ([100], [2, 5, 10], [9, 16, 7, 14], eight, twelve, [*twelve, 2, 2, 3, 20, 6, 5, 12, 2]):
        for records, central in ((100_000, 0.5), (10_000_000, 0.1)):
            wanted = Wanted(Circumstances(records), central=central)
            named = {str(i): size for i, size in enumerate(sizes)}
            times = []
            for _ in range(9):
                start = time.process_time()
                mechanism = calibrate(named, wanted)
                times.append(1000 * (time.process_time() - start))
            retention = mechanism.retentions()[0]
            rows.append({"domains": ",".join(map(str, sizes)), "records": records, "central": central,
                         "retention": retention, "local": math.log(mechanism.likelihood_ratio or 1),
                         "ms": sorted(times)[4]})  # fmt: skip
    return rows


# ---------------------------------------------------------------- what is stored


def shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def table(headings: tuple[str, ...], rows: list[dict[str, object]]) -> list[str]:
    lines = ["| " + " | ".join(headings) + " |", "|---" + "|---:" * (len(headings) - 1) + "|"]
    return lines + ["| " + " | ".join(shown(row[name]) for name in headings) + " |" for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accounting")
    parser.add_argument(
        "--prepare", action="store_true", help="install dp-accounting and OpenDP under .venv-bench"
    )
    parser.add_argument("--into", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.prepare:
        peers.prepare(("dp-accounting", "opendp"))
    missing = [n for n in ("dp-accounting", "opendp") if not (peers.ENVIRONMENTS / n / ".installed").exists()]
    host, rows, calibrated = tables.machine(), compared(), calibrations()
    lines = [
        "# Central epsilon of shuffled releases",
        "",
        f"`python -m benchmarks.accounting`, {tables.now()}. {host['processor']}, {host['cores']} cores; load "
        f"before the run {', '.join(map(str, host['load_before']))}. ms are of processor time. Columns: see "
        "`benchmarks/accounting.py`.",
        *([f"Not installed, so left out (`--prepare`): {', '.join(missing)}."] if missing else []),
        "",
        *table(HEADINGS, rows),
        "",
        "## The largest retention for a central epsilon, delta 1e-6",
        "",
        *table(("domains", "records", "central", "retention", "local", "ms"), calibrated),
    ]
    given.into.mkdir(parents=True, exist_ok=True)
    (given.into / "accounting.md").write_text("\n".join(lines) + "\n", "utf-8")
    with (given.into / "accounting.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEADINGS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
