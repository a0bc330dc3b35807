"""Epsilons by other accountants: dp-accounting (Google) and OpenDP, each asked for what it can compute.

- *local*: one column's randomised response, and all columns of a record together.
- *central*: of a shuffled release. Neither library has shuffling. dp-accounting is given the exact law of the
  counts for two neighbouring tables, whose epsilon no certificate may be below; and the law of Feldman, McMillan
  and Talwar's clones, whose epsilon is an upper bound by another proof.
- *together*: several releases about the same people, composed.
- *understated*: our epsilon less a tenth; a judge that does not object to it has no power.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from benchmarks.accounting import DP_ACCOUNTING
from benchmarks.peers import prepare, python_of
from pramana.mechanisms.channel import Retention, central_epsilon
from pramana.mechanisms.guarantees import Circumstances
from pramana.mechanisms.table import Product
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.theory import rounding
from pramana.theory.composition import PrivacyProfile, composed_epsilon

GRID = 1e-4  # to which dp-accounting rounds every loss upwards
DELTA = 1e-6
UNDERSTATED = 0.9
LOCAL = """
import json, sys
from importlib.metadata import version
from dp_accounting.pld import privacy_loss_distribution as pld
order = json.load(sys.stdin)
laws = [pld.from_randomized_response(1 - c["retention"], c["size"]) for c in order["columns"]]
whole = laws[0]
for law in laws[1:]:
    whole = whole.compose(law)
print(json.dumps({"version": version("dp-accounting"), "epsilon": whole.get_epsilon_for_delta(0),
                  "understated": whole.get_delta_for_epsilon(order["understated"])}))
"""
COUNTS = """
import json, math, sys
from dp_accounting.pld import privacy_loss_distribution as pld
order = json.load(sys.stdin)
n, q, d = order["records"], order["other"], order["same"]
log = lambda k, m, p: (math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1)
                       + k * math.log(p) + (m - k) * math.log1p(-p)) if 0 <= k <= m else -math.inf
def mixed(k, on):
    terms = [log(k - 1, n - 1, q) + math.log(on), log(k, n - 1, q) + math.log1p(-on)]
    top = max(terms)
    return top + math.log(sum(math.exp(t - top) for t in terms))
first, second = ({k: mixed(k, on) for k in range(n + 1)} for on in (d, q))
law = pld.from_two_probability_mass_functions(second, first, value_discretization_interval=1e-4)
print(json.dumps({"epsilon": law.get_epsilon_for_delta(order["delta"])}))
"""
TOGETHER = """
import json, sys
from dp_accounting.pld import privacy_loss_distribution as pld
order = json.load(sys.stdin)
law = pld.from_privacy_parameters(pld.common.DifferentialPrivacyParameters(order["each"], 0),
                                  value_discretization_interval=1e-4)
whole = law.self_compose(order["releases"])
print(json.dumps({"epsilon": whole.get_epsilon_for_delta(order["delta"]),
                  "understated": whole.get_delta_for_epsilon(order["understated"])}))
"""
OPENDP = """
import json, sys
from importlib.metadata import version
import opendp.prelude as dp
dp.enable_features("contrib")
order = json.load(sys.stdin)
each = [dp.m.make_randomized_response(list(range(c["size"])), c["diagonal"]).map(1) for c in order["columns"]]
same = dp.m.make_randomized_response(list(range(order["columns"][0]["size"])), order["columns"][0]["diagonal"])
thrice = dp.c.make_composition([same, same, same]).map(1)
print(json.dumps({"version": version("opendp"), "epsilon": sum(each), "first three times": thrice,
                  "first": each[0]}))
"""


def asked(environment: str, script: str, **order: object) -> dict[str, Any]:
    command = [str(python_of(environment)), "-c", script]
    done = subprocess.run(command, input=json.dumps(order), capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def laws() -> dict[str, tuple[Product, int]]:
    """Mechanisms, each with the number of records of its table."""
    found = {"two values, rho = 1/2": (Product({"a": Retention.at(Fraction(1, 2), 2)}), 1000),
             "ten values, rho = 1/5": (Product({"a": Retention.at(Fraction(1, 5), 10)}), 1000)}  # fmt: skip
    for sizes, records, k in (((2, 5, 10), 100_000, 100.0), ((2, 18, 3, 3, 18, 20, 12), 5_000, 2.0)):
        named = {str(i): size for i, size in enumerate(sizes)}
        mechanism = calibrate(named, Wanted(Circumstances(records), k=k))
        assert isinstance(mechanism, Product)
        found[f"{len(sizes)} columns, {records:,} records, k = {k:g}"] = (mechanism, records)
    return found


def _columns(mechanism: Product) -> list[dict[str, float]]:
    retentions = [c for c in mechanism.channels.values() if isinstance(c, Retention)]
    return [{"size": c.size, "retention": float(c.retention), "diagonal": float(c.diagonal)} for c in retentions]


def local_rows() -> list[dict[str, Any]]:
    rows = []
    for name, (mechanism, _) in laws().items():
        ratio = mechanism.likelihood_ratio
        assert ratio is not None
        ours, columns = rounding.log_up(ratio), _columns(mechanism)
        google = asked("dp-accounting", LOCAL, columns=columns, understated=UNDERSTATED * ours)
        opendp = asked("opendp", OPENDP, columns=columns)
        rows.append({
            "law": name, "Pramana": ours, "dp-accounting": google["epsilon"], "OpenDP": opendp["epsilon"],
            "agrees": abs(google["epsilon"] - ours) <= GRID * (len(columns) + 1)
            and abs(opendp["epsilon"] - ours) < 1e-6,
            "delta of understated": google["understated"],
            "versions": {"dp-accounting": google["version"], "opendp": opendp["version"]},
            "first": opendp["first"], "first three times": opendp["first three times"],
        })  # fmt: skip
    return rows


def central_rows() -> list[dict[str, Any]]:
    """Of one column of two values: the number of ones is all that a shuffled table tells."""
    rows = []
    for rho, records in (
        (Fraction(1, 2), 200),
        (Fraction(1, 2), 1000),
        (Fraction(1, 5), 1000),
        (Fraction(4, 5), 1000),
    ):
        mechanism = Product({"a": Retention.at(rho, 2)})
        ratio, blankets = mechanism.likelihood_ratio, mechanism.blankets
        assert ratio is not None and blankets is not None
        ours, _ = central_epsilon(blankets, ratio, records, DELTA)
        same = float(rho + (1 - rho) / 2)
        needed = asked("dp-accounting", COUNTS, records=records, same=same, other=1 - same, delta=DELTA)["epsilon"]
        clones = _clones(records, float(ratio))
        rows.append({"rho": float(rho), "records": records, "local": math.log(ratio), "needed": needed,
                     "Pramana": ours, "clones": clones, "objects below, of ours": needed / ours,
                     "agrees": needed - GRID <= ours <= clones + GRID})  # fmt: skip
    return rows


def _clones(records: int, ratio: float) -> float:
    command = [str(python_of("dp-accounting")), "-c", DP_ACCOUNTING]
    order = json.dumps({"records": records, "ratio": ratio, "deltas": [DELTA]})
    done = subprocess.run(command, input=order, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)[0])


def together_rows() -> list[dict[str, Any]]:
    rows = []
    for each, releases in ((0.5, 2), (0.5, 10), (0.1, 50), (2.0, 5)):
        ours = composed_epsilon([PrivacyProfile.pure(each)] * releases, DELTA)
        assert ours is not None
        google = asked("dp-accounting", TOGETHER, each=each, releases=releases, delta=DELTA,
                       understated=UNDERSTATED * ours)  # fmt: skip
        theirs = float(google["epsilon"])
        rows.append({"each": each, "releases": releases, "added up": each * releases, "Pramana": ours,
                     "dp-accounting": theirs, "delta of understated": google["understated"],
                     "agrees": theirs - GRID * releases <= ours <= 1.02 * theirs})  # fmt: skip
    return rows


def judged() -> dict[str, Any]:
    prepare(("dp-accounting", "opendp"))
    local = local_rows()
    return {"versions": local[0]["versions"], "delta": DELTA, "local": local, "central": central_rows(),
            "together": together_rows()}  # fmt: skip


# ---------------------------------------------------------------- the page


def lines_of(found: Mapping[str, Any]) -> list[str]:
    return [
        "Local epsilon of a record, all columns together. dp-accounting composes the laws of the columns' "
        "losses, each "
        f"rounded up to a grid of {GRID}; OpenDP's maps of the columns are added up, as its composition "
        "does (the same "
        "column three times by it: "
        + ", ".join(f"{row['first']:.4f} becomes {row['first three times']:.4f}" for row in found["local"][:2])
        + ").",
        "",
        *_table(("law", "Pramana", "dp-accounting", "OpenDP", "agrees", "delta of understated"), found["local"]),
        "",
        f"Central epsilon of a shuffled table of one column with two values, delta = {found['delta']:g}. "
        "*needed*: "
        "dp-accounting on the exact law of the number of ones, of two neighbouring tables in which "
        "everybody else has "
        "the same value: no certificate can be below it. *clones*: dp-accounting on the law of the "
        "clones, another proof's "
        "upper bound. We agree where ours lies between the two.",
        "",
        *_table(
            ("rho", "records", "local", "needed", "Pramana", "clones", "agrees", "objects below, of ours"),
            found["central"],
        ),
        "",
        "Several releases of the same epsilon about the same people, together, at the same delta: the "
        "ledger's total "
        "against dp-accounting's.",
        "",
        *_table(
            ("each", "releases", "added up", "Pramana", "dp-accounting", "agrees", "delta of understated"),
            found["together"],
        ),
    ]


def _table(headings: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["| " + " | ".join(headings) + " |", "|---" + "|---:" * (len(headings) - 1) + "|"]
    return lines + ["| " + " | ".join(_shown(row[name]) for name in headings) + " |" for row in rows]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
