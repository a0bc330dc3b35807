"""Records that people randomise themselves: by the law of a recipe, one at a time; and the bundle they become.

Nobody else holds the coins: each record gets a fresh key of its own, which is forgotten, and nobody can make the
bundle again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pramana.bundle.certificate import Certificate
from pramana.bundle.published_numbers import WITHIN_BIN, numbers_of
from pramana.bundle.signing import read_signing_key
from pramana.errors import SourceError
from pramana.files.folder import sweep
from pramana.io.survey import Variable
from pramana.methods.coded import CodedTable
from pramana.methods.protocol import Capabilities, Plan, Publication
from pramana.methods.recipe import AnyRecipe
from pramana.methods.registry import method_named
from pramana.methods.retention.plan import RandomisedPlan
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype
from pramana.randomness.shuffle import shuffled_order
from pramana.rows.protocol import Columns
from pramana.run.config import RecipeLike, read_recipe
from pramana.run.run import reconcile
from pramana.run.write import BundleWriter, Destination
from pramana.schema.domain import Attribute
from pramana.schema.kind import label_of
from pramana.schema.typed import near

_PIECE = 1 << 20


@dataclass(frozen=True)
class Devices:
    """Where the records came from: devices that ran the page of this digest (SHA-256, hexadecimal)."""

    page: str

    def to_json(self) -> dict[str, Any]:
        return {"format": "devices", "page": self.page}

    def variables(self, names: Sequence[str]) -> Mapping[str, Variable]:
        """What people see stands in the recipe's questions; answers have no labels besides."""
        del names
        return {}


def publish_collected(
    recipe: AnyRecipe,
    plan: RandomisedPlan,
    records: Mapping[str, Codes],
    devices: Devices,
    out: str | Path,
    *,
    sign: str | Path | None = None,
    waived: Sequence[str] = (),
) -> Certificate:
    """The bundle of records that are randomised already, in an order drawn for it and kept nowhere."""
    count = len(next(iter(records.values())))
    if count == 0:
        raise SourceError("A survey must have at least one record to be published", "0 records")
    sweep(Path(out))
    counted = replace(plan, circumstances=replace(plan.circumstances, records=count, on_devices=True))
    key = Key.create()  # kept nowhere: of the order, and of numbers that are drawn within the published bins
    order = shuffled_order(key, "", count)
    ordered = {a.name: records[a.name][order] for a in counted.attributes}
    drawn = [name for name, numbers in numbers_of(counted.attributes).items() if numbers.drawn]
    coins = {name: key.stream(WITHIN_BIN, "", name) for name in drawn}
    table, worth = CodedTable(counted.attributes, coins), counted.usefulness()
    publication = Publication(counted, partial(_pieces, ordered, count), table, "", usefulness=worth)
    guarantees = reconcile(recipe.release, counted, seeded=False, waived=waived)
    to = Destination(Path(out), None, signing=None if sign is None else read_signing_key(sign))
    return BundleWriter(recipe, devices, publication, guarantees, to).write()


def _pieces(columns: Mapping[str, Codes], count: int) -> Iterator[Columns]:
    for first in range(0, count, _PIECE):
        yield {name: codes[first : first + _PIECE] for name, codes in columns.items()}


# ---------------------------------------------------------------- one record


def plan_for_records(recipe: RecipeLike) -> RandomisedPlan:
    """The law of a recipe without a table, for records that are randomised one at a time.

    Args:
        recipe: A recipe of the method retention or matrix, or the path of one; a promise of k needs the planned
            number of records in it.

    Returns:
        The plan, to be passed to `randomise_record`.

    Raises:
        SourceError: The method cannot randomise single records.
        RecipeError: The recipe is wrong.

    >>> import pramana
    >>> [round(retention, 2) for retention in pramana.plan_for_records("recipe.toml").mechanism.retentions()]
    [0.72, 0.72]
    """
    read = read_recipe(recipe)
    method = method_named(read.method)
    _check_single_records(method.capabilities(read.release), read.method)
    return method.law_without_rows(read)


def _check_single_records(can: Capabilities, got: str) -> None:
    if not can.single_records:
        raise SourceError("Single records can be randomised by the methods retention and matrix", got)


def randomise_record(recipe: RecipeLike | RandomisedPlan, record: Mapping[str, object]) -> dict[str, str | None]:
    """One published record for one true one, by coins that are kept nowhere.

    Args:
        recipe: A recipe or the path of one; or a plan, to randomise many records without reading the recipe again.
        record: The true values by column; one that is left out is missing.

    Returns:
        The published values by column; None where missing.

    Raises:
        SourceError: A value is not in its column's domain, or belongs to no column of the recipe.

    >>> import pramana
    >>> sorted(pramana.randomise_record("recipe.toml", {"sex": "F", "age": "30"}))
    ['age', 'sex']
    """
    plan = recipe if isinstance(recipe, Plan) else plan_for_records(recipe)
    _check_single_records(plan.capabilities, "a plan of another method")
    for name in record:
        if name not in {a.name for a in plan.attributes} | set(plan.dropped):
            raise SourceError(
                "Every value of a record must belong to a column of the recipe",
                repr(name),
                near(name, [a.name for a in plan.attributes]),
            )
    coded = [a for a in plan.attributes if not a.raw]
    codes = {a.name: _code(a, record) for a in coded}
    out = {name: np.empty_like(code) for name, code in codes.items()}
    key = Key.create()
    context = plan.context()
    plan.mechanism.publish(lambda purpose, column: key.stream(purpose, context, column), 0, codes, out)
    published: dict[str, str | None] = {}
    for a in plan.attributes:
        if a.raw:
            published[a.name] = label_of(record.get(a.name)) or None
        else:
            code = int(out[a.name][0])
            published[a.name] = None if code == a.coded.missing_code else a.coded.labels[code]
    for name, numbers in numbers_of(plan.attributes).items():
        coins = key.stream(WITHIN_BIN, context, name).words(0, 1) if numbers.drawn else None
        published[name] = numbers.label(int(out[name][0]), coins)
    return published


def _code(attribute: Attribute, record: Mapping[str, object]) -> Codes:
    label, domain = label_of(record.get(attribute.name)), attribute.coded
    code = domain.missing_code if label == "" else domain.code_of(label)
    if code is None:
        fault = "a missing value" if label == "" else "a value that it does not have"
        hint = 'Set missing = "category" in the recipe to allow it.' if label == "" else None
        raise SourceError(f"The value of {attribute.name!r} must be in its domain", fault, hint)
    return np.array([code], code_dtype(domain.size))
