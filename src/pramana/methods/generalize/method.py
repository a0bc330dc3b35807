"""`generalize`: k-anonymity of this table, with what the classes look like inside in their cells (paper 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import RecipeError, UnreachableError
from pramana.files.locations import named_in
from pramana.io.codes import domain_from_data, has_missing
from pramana.methods.cells import CLASS
from pramana.methods.columns import Quasi, hierarchy_of, levels_given, quasi_of, reading_of, unchanged
from pramana.methods.generalize.explanation import PDF, changes_of, offers_pdf
from pramana.methods.generalize.lines import PopulationLines, read_population
from pramana.methods.generalize.measured import measure, sensitive_in_classes
from pramana.methods.generalize.plan import GeneralizePlan, GeneralizeStatement, restore_generalisation
from pramana.methods.generalize.search import ClassTask, goes_by_class, solve, space_in
from pramana.methods.generalize.setting import (
    GeneralizedColumn,
    GeneralizeDesign,
    GeneralizeSetting,
    design_in,
    design_of,
)
from pramana.methods.generalize.space import SolutionSpace
from pramana.methods.protocol import (
    USUAL_KS,
    Capabilities,
    Method,
    Plan,
    fields_of_recipe,
    first_useful,
    without_a_column,
)
from pramana.methods.recipe import Recipe
from pramana.methods.sensitive import Sensitive, sensitive_in, units_in_classes
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Attribute, Role

# Method `generalize`: from a recipe to the best classes of a table (paper 4).


GeneralizeRecipe = Recipe[GeneralizeSetting, GeneralizedColumn]


class GeneralizeMethod(Method[GeneralizeSetting, GeneralizedColumn]):
    """`generalize`."""

    name: ClassVar[str] = "generalize"
    counts_people: ClassVar[bool] = True
    setting = GeneralizeSetting
    column = GeneralizedColumn
    statement = GeneralizeStatement

    def capabilities(self, setting: GeneralizeSetting) -> Capabilities:
        return design_in(setting).capabilities

    def readings(self, recipe: GeneralizeRecipe) -> tuple[ColumnReading, ...]:
        design_of(recipe)
        saved = _saved(recipe)
        known = {} if saved is None else {q.name: q for q in saved.quasi}
        readings = []
        for name, column in recipe.published.items():
            is_quasi = column.role is Role.QUASI_IDENTIFYING
            if name in known:
                readings.append(ColumnReading.of(known[name].attribute))
                continue
            if is_quasi and recipe.release.algorithm == "incognito" and column.hierarchy is None:
                raise RecipeError(
                    f"The quasi-identifying column {name!r} must have a hierarchy",
                    "none",
                    'Write hierarchy = "file.csv" (ARX format), or use algorithm = "mondrian", which needs none.',
                )
            readings.append(reading_of(name, column, recipe.folder, is_quasi))
        if recipe.release.subset is not None:
            readings.append(ColumnReading(recipe.release.subset))
        return tuple(readings)

    def plan(self, recipe: GeneralizeRecipe, rows: Rows) -> GeneralizePlan:
        task, attributes, levels = _task(recipe, rows)
        design, sensitive, stated = task.design, task.sensitive, recipe.release.population
        searched = solve(task, levels)
        generalised = searched.generalised
        allowed = int(design.suppression * generalised.rows)
        if generalised.suppressed > allowed:
            raise UnreachableError(
                f"The levels must suppress at most {allowed} of these rows",
                f"{generalised.suppressed} in classes that fail the conditions",
                "Allow more suppression, or have levels searched for by leaving solution and levels out.",
            )
        by_class = goes_by_class(design, generalised, recipe.output.data_format)
        if by_class and any(a.name == CLASS for a in attributes):
            raise RecipeError(
                f"No column may be called {CLASS!r} where cells go by class", f"the column {CLASS!r}"
            )
        in_classes = sensitive_in_classes(rows, sensitive, generalised)
        units = units_in_classes(rows, sensitive, generalised.classes)
        return GeneralizePlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            quasi=tuple(task.quasi),
            sensitive=tuple(
                s.published(h.codes[h.class_of >= 0]) for s, h in zip(sensitive, in_classes, strict=True)
            ),
            of_source=generalised.rows,
            levels=generalised.levels,
            measured=measure(
                generalised, design, task.quasi, sensitive, in_classes, by_class, searched.population, units
            ),
            people=None if design.subset is None else rows.records,
            # whoever makes the release again needs the file where classes were held against it
            population_name=Path(stated).name if stated is not None and design.compares_people else None,
            population=searched.population,
            generalised=generalised,
        )

    def variants(self, setting: GeneralizeSetting) -> Mapping[str, Sequence[float]]:
        return {"k": sorted({*USUAL_KS, float(setting.k)})}

    def advise(self, recipe: GeneralizeRecipe, plan: Plan, rows: Rows | None) -> tuple[str, ...]:
        """A few other settings on the same rows."""
        del plan
        if rows is None or recipe.release.solution is not None:
            return ()
        changes = changes_of(recipe.release)
        tried = [words for some in changes for words in first_useful(self, recipe, rows, some)]
        pdf = [PDF] if offers_pdf(recipe.release) else []
        return (*pdf, *tried, *without_a_column(self, recipe, rows))

    def space(self, recipe: GeneralizeRecipe, rows: Rows) -> SolutionSpace:
        if recipe.release.algorithm != "incognito":
            raise RecipeError(
                'A space of solutions must be of algorithm = "incognito"', repr(recipe.release.algorithm)
            )
        task, _, levels = _task(recipe, rows)
        try:
            chosen = solve(task, levels).generalised.levels
        except UnreachableError:
            chosen = None
        return space_in(task, chosen)

    def restore(self, certificate: Certificate) -> GeneralizePlan:
        return restore_generalisation(certificate)


def _task(recipe: GeneralizeRecipe, rows: Rows) -> tuple[ClassTask, tuple[Attribute, ...], tuple[int, ...] | None]:
    """What classes are made from, every published column, and the levels where none are searched for."""
    design, saved = design_of(recipe), _saved(recipe)
    quasi = _quasi(recipe, rows, saved)
    by_name = {q.name: q.attribute for q in quasi}
    attributes = tuple(by_name.get(name) or unchanged(name, own) for name, own in recipe.published.items())
    rows.encode(attributes)
    sensitive = _sensitive(recipe, rows, design)
    levels = _levels(recipe.release, saved, quasi)
    return ClassTask(rows, design, quasi, sensitive, _population(recipe, quasi, rows)), attributes, levels


def _population(recipe: GeneralizeRecipe, quasi: Sequence[Quasi], rows: Rows) -> PopulationLines | None:
    """That of a file, which only a full-domain generalisation can be held against."""
    stated = recipe.release.population
    if stated is None:
        return None
    if rows.owners is not None:
        raise RecipeError("A population must be compared with rows that are people", "a [unit] of several rows")
    if recipe.release.algorithm != "incognito":
        raise RecipeError('population must be a file, with algorithm = "incognito"', str(stated))
    return read_population(named_in(recipe.folder, stated, "release.population"), quasi)


def _quasi(recipe: GeneralizeRecipe, rows: Rows, saved: GeneralizePlan | None) -> tuple[Quasi, ...]:
    known = {} if saved is None else {q.name: q for q in saved.quasi}
    quasi = tuple(
        known.get(name) or quasi_of(name, column, recipe.folder, rows)
        for name, column in recipe.published.items()
        if column.role is Role.QUASI_IDENTIFYING
    )
    if not quasi:
        raise RecipeError("A recipe must have at least one quasi-identifying column", "0 of them")
    return quasi


def _sensitive(recipe: GeneralizeRecipe, rows: Rows, design: GeneralizeDesign) -> tuple[Sensitive, ...]:
    columns = {n: column for n, column in recipe.published.items() if column.role is Role.SENSITIVE}
    if design.t is None or design.t_distance == "equal":
        return tuple(sensitive_in(name, rows) for name in columns)
    for name in columns:
        if has_missing(rows.values([name])[name]):
            raise RecipeError(
                f"The sensitive column {name!r} must have no missing values",
                f"missing ones with t_distance = {design.t_distance!r}",
                'Write t_distance = "equal", which takes a missing value for a value of its own.',
            )
    if design.t_distance == "ordered":
        return tuple(_sensitive_in_order(name, rows) for name in columns)
    return tuple(_sensitive_along_tree(name, column, recipe.folder) for name, column in columns.items())


def _saved(recipe: GeneralizeRecipe) -> GeneralizePlan | None:
    """The full-domain solution of an earlier bundle, to be applied to these rows."""
    if recipe.release.solution is None:
        return None
    certificate = Bundle.open(recipe.folder / recipe.release.solution).certificate
    if certificate.method != GeneralizeMethod.name or recipe.release.algorithm != "incognito":
        raise RecipeError(
            'solution must be a bundle of method "generalize", with algorithm = "incognito"', certificate.method
        )
    return restore_generalisation(certificate)


def _levels(
    setting: GeneralizeSetting, saved: GeneralizePlan | None, quasi: Sequence[Quasi]
) -> tuple[int, ...] | None:
    """Levels that are not searched for: those of an earlier bundle, or a node that the holder chose."""
    if setting.levels is not None and (saved is not None or setting.algorithm != "incognito"):
        other = "a solution" if saved is not None else f"algorithm = {setting.algorithm!r}"
        raise RecipeError('levels must go with algorithm = "incognito", and without a solution', other)
    if saved is None:
        return levels_given(setting.levels, {q.name: q.ladder.height for q in quasi})
    if saved.levels is None:
        raise RecipeError("The solution must have levels", "classes of a multidimensional partition")
    by_name = dict(zip((q.name for q in saved.quasi), saved.levels, strict=True))
    if differing := sorted(by_name.keys() ^ {q.name for q in quasi}):
        raise RecipeError(
            "The solution must be of the same quasi-identifying columns",
            f"{', '.join(differing)} in one of the two",
        )
    return tuple(by_name[q.name] for q in quasi)


def _sensitive_along_tree(name: str, column: GeneralizedColumn, folder: Path) -> Sensitive:
    """With the values of its hierarchy, along which t is measured."""
    hierarchy = hierarchy_of(name, column, folder)
    if hierarchy is None:
        raise RecipeError(
            f"The hierarchical distance must have a hierarchy for the sensitive column {name!r}",
            "none",
            'Write hierarchy = "file.csv", or t_distance = "equal".',
        )
    parents = []
    for level in range(1, hierarchy.height):
        below, above = hierarchy.level_map(level - 1)[0], hierarchy.level_map(level)[0]
        step = np.zeros(int(below.max()) + 1, np.int64)
        step[below] = above
        parents.append(step)
    return Sensitive(name, hierarchy.leaves, False, tuple(parents))


def _sensitive_in_order(name: str, rows: Rows) -> Sensitive:
    """With its values in their order, along which t is measured: numbers, dates, or categories that have one."""
    domain = domain_from_data(rows.values([name])[name])
    if not domain.kind.has_order:
        raise RecipeError(
            f"The ordered distance must have values with an order in the sensitive column {name!r}",
            "names",
            'Code them as numbers, or write t_distance = "equal".',
        )
    return Sensitive(name, domain.labels, False)


METHODS = {GeneralizeMethod.name: GeneralizeMethod()}
