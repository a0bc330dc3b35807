"""A release from which nothing can be learned stops before anything is written, with advice for this table."""

from __future__ import annotations

from pramana.calibration import Usefulness
from pramana.errors import UselessError
from pramana.methods import AnyRecipe, Plan, method_named
from pramana.rows import Rows

_MOST_ADVICE = 6


def check_useful(recipe: AnyRecipe, plan: Plan, usefulness: Usefulness, rows: Rows | None) -> None:
    """Refuse a release whose every table that matters is known no better than by a guess."""
    best = usefulness.best
    if not usefulness.useless or best is None:
        return
    advice = method_named(recipe.method).advise(recipe, plan, rows)
    raise UselessError(
        "Something must be learned from a release",
        f"nothing: {best.title}, the best table that matters, would be known to within {best.shown(best.within)}, "
        f"and a guess that ignores the data is within {best.shown(best.blind)}; of halves of its values no more",
        " ".join((*advice[:_MOST_ADVICE], "Nothing was written; --even-if-useless goes on.")),
    )
