"""The paper's second scenario: a person randomises their own record, by the same law as a table's.

Nobody else holds the coins: each record gets a fresh key of its own, which is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pramana.bundle import WITHIN_BIN, numbers_of
from pramana.errors import SourceError
from pramana.methods import method_named
from pramana.methods.retention import RandomisedPlan
from pramana.pipeline.opening import RecipeLike, read_recipe
from pramana.randomness import Codes, Key, code_dtype
from pramana.schema import Attribute, label_of, near


def plan_for_records(recipe: RecipeLike) -> RandomisedPlan:
    """The law of a recipe without a table; k needs the planned number of records.

    >>> pramana.plan_for_records("recipe.toml").mechanism.retentions()  # doctest: +SKIP
    [0.42]
    """
    read = read_recipe(recipe)
    method = method_named(read.method)
    if not method.capabilities(read.release).single_records:
        raise SourceError("Single records can be randomised by the methods retention and matrix", read.method)
    plan = method.law_without_rows(read)
    assert isinstance(plan, RandomisedPlan)
    return plan


def randomise_record(recipe: RecipeLike | RandomisedPlan, record: Mapping[str, object]) -> dict[str, str | None]:
    """One published record for one true one. Pass a plan to randomise many without reading the recipe again.

    >>> pramana.randomise_record("recipe.toml", {"sex": "F"})  # doctest: +SKIP
    {'sex': 'M'}
    """
    plan = recipe if isinstance(recipe, RandomisedPlan) else plan_for_records(recipe)
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
        fault = "a missing value" if label == "" else "another value"
        hint = 'Set missing = "category" in the recipe to allow it.' if label == "" else None
        raise SourceError(f"The value of {attribute.name!r} must be in its domain", fault, hint)
    return np.array([code], code_dtype(domain.size))
