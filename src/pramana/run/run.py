"""One run, whoever asks for it: release, plan, verify, levels, the studio and the audit.

    with Run.of_recipe(recipe, source, key, config) as run:  # open: the rows are read, and nothing else
        plan = run.plan()                                    # public: every parameter, and no row
        publication = run.publish(plan)                      # rows are encoded; all that is known of the release
        guarantees = run.reconcile(publication.plan)         # each promise is certified, or nothing is written
        run.write(publication, guarantees, destination)      # published rows are drawn here, and written

Nothing appears before all is known: that order is the privacy argument. `Run.of_plan` is the same run by a plan
that a certificate states, and `Run.trial` one that is never written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pramana.bundle.certificate import Certificate
from pramana.errors import SourceError, UselessError
from pramana.io.source import Source
from pramana.io.writing import digest_of_written
from pramana.methods.protocol import Method, Plan, Publication
from pramana.methods.recipe import AnyRecipe
from pramana.methods.registry import method_named
from pramana.methods.usefulness import Usefulness
from pramana.notions.guarantee import Guarantee
from pramana.notions.registry import check_promises
from pramana.randomness.key import Key
from pramana.rows.memory import MemoryRows
from pramana.rows.protocol import Rows
from pramana.run.config import ExecutionConfig, watched_columns
from pramana.run.write import BundleWriter, Destination, write_pieces
from pramana.schema.sections import Setting

_MOST_ADVICE = 6


@dataclass(frozen=True)
class Run:
    """A source's rows under a key, and what they are to be published by: a recipe, or a plan that is stated."""

    source: Source
    rows: Rows
    key: Key
    recipe: AnyRecipe | None = None
    stated: Plan | None = None

    # ------------------------------------------------------------ open

    @classmethod
    @contextlib.contextmanager
    def of_recipe(cls, recipe: AnyRecipe, source: Source, key: Key, config: ExecutionConfig) -> Iterator[Run]:
        """The holder's way: the method plans by the recipe. A table of several rows per person must say so."""
        method = method_named(recipe.method)
        can = method.capabilities(recipe.release)
        config.check(method.name, can)  # before the source is touched
        watched = watched_columns(recipe, source)
        readings = method.readings(recipe)
        with config.open(source, readings, key, can, recipe.unit, watched) as rows:
            yield cls(source, rows, key, recipe)

    @classmethod
    @contextlib.contextmanager
    def of_plan(cls, plan: Plan, method: str, source: Source, key: Key, config: ExecutionConfig) -> Iterator[Run]:
        """The certificate's way: the plan is known, and the source is read as it was."""
        config.check(method, plan.capabilities)
        with config.open(source, plan.readings(), key, plan.capabilities, plan.in_units) as rows:
            yield cls(source, rows, key, stated=plan)

    @classmethod
    def trial(cls, recipe: AnyRecipe, source: Source) -> Run:
        """All rows in memory, under a key that is used for nothing else: for what is planned and never written."""
        names = [reading.name for reading in method_named(recipe.method).readings(recipe)]
        unit = recipe.unit if recipe.unit is not None and recipe.unit.several else None
        of_units = () if recipe.unit is None else recipe.unit.columns
        key = Key.create()
        rows = MemoryRows(source.read(list(dict.fromkeys((*names, *of_units)))), key)
        return cls(source, rows if unit is None else rows.in_units(unit), key, recipe)

    def with_setting(self, setting: Any) -> Run:
        """The same rows by the same recipe with another [release]."""
        return replace(self, recipe=replace(self._recipe, release=setting))

    @property
    def _recipe(self) -> AnyRecipe:
        assert self.recipe is not None, "only a run by a recipe has one to plan by, promises to keep and an output"
        return self.recipe

    @property
    def method(self) -> Method[Any, Any]:
        return method_named(self._recipe.method)

    # ------------------------------------------------------------ plan, encode, publish

    def plan(self) -> Plan:
        """What will be done to the rows, in public: by the recipe, or as the certificate states it."""
        return self.method.plan(self._recipe, self.rows) if self.stated is None else self.stated

    def publish(self, plan: Plan) -> Publication:
        """The release as it is known before its rows are drawn: they are by `Publication.pieces`, when written."""
        self.rows.encode(plan.attributes)
        return plan.publish(self.rows)

    # ------------------------------------------------------------ check

    def check_records(self) -> None:
        """Refuse a source that has not as many records as the certificate states."""
        stated = self.plan().source_records
        if self.rows.records != stated:
            raise SourceError(f"The source must have its {stated} records", f"{self.rows.records}")

    def check_useful(self, plan: Plan, usefulness: Usefulness) -> None:
        """Refuse a release whose every table that matters is known no better than by a guess."""
        best = usefulness.best
        if not usefulness.useless or best is None:
            return
        advice = self.method.advise(self._recipe, plan, self.rows)
        raise UselessError(
            "Something must be learned from a release",
            f"nothing: {best.title}, the best table that matters, would be known to within "
            f"{best.shown(best.within)}, and a guess that ignores the data is within {best.shown(best.blind)}; of "
            "halves of its values no more",
            " ".join((*advice[:_MOST_ADVICE], "Nothing was written; --even-if-useless goes on.")),
        )

    def reconcile(self, plan: Plan) -> tuple[Guarantee, ...]:
        """The guarantees to certify. Every promise of the recipe is among them, or nothing is published."""
        return reconcile(self._recipe.release, plan, self.key.seeded)

    # ------------------------------------------------------------ write

    def write(
        self, publication: Publication, guarantees: Sequence[Guarantee], destination: Destination
    ) -> Certificate:
        """Draw the published rows and write the bundle, whole or not at all."""
        return BundleWriter(self._recipe, self.source, publication, guarantees, destination).write()

    def digest(self, publication: Publication, form: str, escape: bool, threads: int = 0) -> str:
        """Draw the published rows and write them nowhere: the SHA-256 of the data file that they would be."""
        return digest_of_written(lambda sink: write_pieces(publication, sink, form, escape, threads))


def reconcile(setting: Setting, plan: Plan, seeded: bool, waived: Sequence[str] = ()) -> tuple[Guarantee, ...]:
    """The guarantees of a plan, where every promise of [release] that is not waived is among them."""
    guarantees = plan.guarantees(seeded)
    check_promises(setting, guarantees, (*setting.waived, *waived))
    return guarantees
