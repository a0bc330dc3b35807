"""The paper's second scenario: a person randomises their own record, by the same law as a table's.

Nobody else holds the coins: each record gets a fresh key of its own, which is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pramana.errors import SourceError
from pramana.randomness import Codes, Key, code_dtype
from pramana.release.publish import method_of
from pramana.release.randomised import RandomisedPlan, RetentionMethod
from pramana.schema import Attribute, Recipe, label_of, near


def plan_for_records(recipe: Recipe | str | Path) -> RandomisedPlan:
    """The law of a recipe without a table; k needs the planned number of records."""
    if not isinstance(recipe, Recipe):
        recipe = Recipe.read(recipe)
    method = method_of(recipe.method)
    if not isinstance(method, RetentionMethod):
        raise SourceError("Single records can be randomised by the methods retention and matrix", recipe.method)
    return method.plan(recipe, None)


def randomise_record(
    recipe: Recipe | RandomisedPlan | str | Path, record: Mapping[str, Any]
) -> dict[str, str | None]:
    """One published record for one true one. Pass a plan to randomise many without reading the recipe again."""
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
    found: dict[str, str | None] = {}
    for a in plan.attributes:
        if a.raw:
            found[a.name] = label_of(record.get(a.name)) or None
        else:
            code = int(out[a.name][0])
            found[a.name] = None if code == a.coded.missing_code else a.coded.labels[code]
    return found


def _code(attribute: Attribute, record: Mapping[str, Any]) -> Codes:
    label, domain = label_of(record.get(attribute.name)), attribute.coded
    code = domain.missing_code if label == "" else domain.code_of(label)
    if code is None:
        fault = "a missing value" if label == "" else "another value"
        hint = 'Set missing = "category" in the recipe to allow it.' if label == "" else None
        raise SourceError(f"The value of {attribute.name!r} must be in its domain", fault, hint)
    return np.array([code], code_dtype(domain.size))
