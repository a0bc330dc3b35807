"""Versions for recipients: reserve in the ledger, make the bundle, commit.

A run may be killed anywhere. What it leaves is a reservation that the same request takes up again, and then
either no bundle or a whole one.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from pramana.engines import BatchEngine, LocalEngine, Progress, commitment_to, no_progress
from pramana.errors import LedgerError, RecipeError, RefusedError
from pramana.ledger import Dataset, Ledger, Release, Request, is_ledger_file, whoami
from pramana.mechanisms import AtLevel, LevelDesign, RecordedLevels
from pramana.randomness import Codes, Key, check_outside_bundles
from pramana.release.certificate import Certificate, read_signing_key
from pramana.release.folder import check_new, same_files, scratch_beside
from pramana.release.kept_key import DigestUnderKeys, KeptKey
from pramana.release.levels import LevelMethod, LevelPlan, attributes_of, circumstances_of, design_of, is_keyed
from pramana.release.method import Published
from pramana.release.publish import write_bundle
from pramana.release.resolve import dropped
from pramana.release.streamed import Streamed, StreamedTable, coders_for, read_streamed
from pramana.release.version_store import VersionStore
from pramana.schema import Attribute, Recipe
from pramana.sources import Source, Table, encode, raw_column
from pramana.theory import Level

EVERYBODY = "*"  # in a recipe's allowances


@dataclass(frozen=True)
class Created:
    """A dataset that was registered, and where its key lies."""

    dataset: str
    records: int
    key_file: Path
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Issued:
    """A version that was issued; `again` where the recipient had it before."""

    bundle: Path
    release: Release
    certificate: Certificate
    again: bool


@dataclass(frozen=True)
class _Opened:
    """A table read as its recipe says, and everything about it that no level changes.

    A table that streams is in `streamed`, and `table` holds the values that occur, once each.
    """

    recipe: Recipe
    source: Source
    table: Table
    attributes: tuple[Attribute, ...]
    design: LevelDesign
    streamed: StreamedTable | None = None

    @classmethod
    @contextlib.contextmanager
    def read(
        cls, recipe: Recipe, engine: BatchEngine | None = None, progress: Progress = no_progress
    ) -> Iterator[_Opened]:
        if recipe.method != "levels":
            raise RecipeError('The recipe of a ledger must have method = "levels"', repr(recipe.method))
        if recipe.output:
            raise RecipeError(
                "The recipe of a ledger must name no table in [output]",
                "one",
                "Each recipient's version is a bundle of its own.",
            )
        source, method = Source.from_options(recipe.source), LevelMethod()
        columns = method.columns(recipe)
        if engine is None:
            table = source.read(columns)
            attributes = attributes_of(recipe, table)
            yield cls(recipe, source, table, attributes, design_of(recipe, attributes))
            return
        if not is_keyed(recipe):
            raise RecipeError("Versions with a history must be issued from a table in memory", "a bound on memory")
        coders = coders_for(recipe, method)
        with contextlib.closing(read_streamed(source, columns, coders, engine, progress)) as streamed:
            attributes = attributes_of(recipe, streamed.seen)
            streamed.settle(attributes)
            yield cls(recipe, source, streamed.seen, attributes, design_of(recipe, attributes), streamed)

    def codes(self) -> dict[str, Codes]:
        return {a.name: encode(self.table.column(a.name), a.coded, a.name) for a in self.attributes if not a.raw}

    def digest(self, key: Key) -> str:
        """Of the whole table, under a key: who has only the ledger can test no guess about it."""
        if self.streamed is not None:
            coded = [a.name for a in self.attributes if not a.raw]
            return self.streamed.rows.commitments(key, coded, self.streamed.engine.workers)[1]
        raw = {a.name: raw_column(self.table.column(a.name), None) for a in self.attributes if a.raw}
        return commitment_to({**self.codes(), **raw}, key)

    def fingerprint(self, key: Key) -> str:
        """What must not change between versions: the attributes with their domains, and the design.

        Under the key: a domain may have been read from the table.
        """
        stated = json.dumps([[a.to_json() for a in self.attributes], self.design.to_json()], sort_keys=True)
        return _sealed(key, "design", stated)

    def plan(self, dataset: str, level: Level, keyed: bool) -> LevelPlan:
        circumstances = circumstances_of(self.recipe, self.attributes, self.table)
        version = AtLevel(self.design, level)
        return LevelPlan(self.attributes, dropped(self.recipe), version, circumstances, dataset, keyed)


def _sealed(key: Key, what: str, text: str) -> str:
    """A digest for the ledger that only the key's holder can compute."""
    return hmac.digest(key.derive("ledger", what), text.encode(), "sha256").hex()


# ---------------------------------------------------------------- create


def create_levels(
    ledger: str | Path,
    recipe: str | Path,
    *,
    name: str | None = None,
    key: str | Path | None = None,
    who: str | None = None,
    independent: bool = False,
    memory: int | None = None,
    progress: Progress = no_progress,
) -> Created:
    """Register a recipe's table under a new key, kept beside the ledger, and make the ledger if there is none.

    With `memory`, in bytes, the table streams through within that bound.
    """
    if key is None and not is_ledger_file(ledger):
        raise LedgerError("With a ledger in PostgreSQL the key's place must be given", "none", "Say --key FILE.")
    check_outside_bundles(Path(f"{ledger}.key") if key is None else Path(key))
    read = Recipe.read(recipe)
    engine = None if memory is None else BatchEngine(memory, folder=Path(recipe).absolute().parent)
    with _Opened.read(read, engine, progress) as opened:
        title = name or read.source.get("dataset") or Path(recipe).stem
        stated = (_text(read, "people"), is_keyed(read), _allowances(read), _limit(read))
        known = Ledger.create(ledger)  # everything that could be wrong with the recipe has been found by now
        key_file = Path(key) if key is not None else _new_key_file(ledger, title, known)
        kept = KeptKey.at(key_file)
        details = {
            "recipe": Path(recipe).read_text("utf-8"),
            "folder": str(Path(recipe).absolute().parent),
            "key_file": str(key_file.absolute()),
            "versions": None if stated[1] else str(_beside(ledger, key_file).absolute()),
        }
        wanted = Dataset(
            title, opened.digest(kept.key), kept.key.commitment(), opened.fingerprint(kept.key),
            opened.table.records, *stated, details,
        )  # fmt: skip
        under = DigestUnderKeys(opened.digest)
        for earlier in known.state().datasets.values():
            if earlier.records == wanted.records:
                under(earlier)  # before anyone has to wait for it
        try:
            warnings = known.add_dataset(wanted, who or whoami(), under, independent, kept.keep)
        except BaseException:
            kept.give_up(known)
            raise
    return Created(wanted.name, wanted.records, key_file, warnings)


def _new_key_file(ledger: str | Path, dataset: str, known: Ledger) -> Path:
    only = not known.state().datasets
    if not only and not dataset.replace("-", "").replace("_", "").isalnum():
        raise LedgerError(
            "The name of a dataset must be letters, digits, - and _ to name its key file", repr(dataset)
        )
    return Path(f"{ledger}.key" if only else f"{ledger}.{dataset}.key")


def _beside(ledger: str | Path, key_file: Path) -> Path:
    return Path(f"{ledger}.versions") if is_ledger_file(ledger) else key_file.with_suffix(".versions")


def _text(recipe: Recipe, key: str) -> str:
    value = recipe.options.get(key, "")
    if not isinstance(value, str):
        raise RecipeError(f"{key} must be text", repr(value))
    return value


def _allowances(recipe: Recipe) -> dict[str, Level]:
    stated = recipe.options.get("allowances", {})
    if not isinstance(stated, Mapping):
        raise RecipeError('allowances must map recipients to levels, "*" for everybody', repr(stated)[:80])
    return {"" if who == EVERYBODY else str(who): Level.of(level) for who, level in stated.items()}


def _limit(recipe: Recipe) -> Fraction | None:
    value = recipe.options.get("total_epsilon")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise RecipeError("total_epsilon must be a positive number", repr(value))
    if not _text(recipe, "people"):
        raise RecipeError("total_epsilon must say about whom it is", "no people", 'Write people = "...".')
    return Fraction(str(value))


# ---------------------------------------------------------------- issue


def issue(
    ledger: str | Path,
    recipient: str,
    level: Level | str | float,
    out: str | Path,
    *,
    dataset: str | None = None,
    key: str | Path | None = None,
    who: str | None = None,
    sign: str | Path | None = None,
    threads: int = 0,
    memory: int | None = None,
    progress: Progress = no_progress,
) -> Issued:
    """The recipient's version at a level, as a bundle in the new folder `out`. Asked again: the same data.

    With `memory`, in bytes, the table streams through within that bound.
    """
    out, level, asking = Path(out), Level.of(level), who or whoami()
    signing = None if sign is None else read_signing_key(sign)
    known = Ledger.open(ledger)
    registered = known.dataset(dataset)
    registered.check_digests()
    secret = Key.read(key or registered.details["key_file"])
    progress("reading", 0, 1)
    engine = None if memory is None else BatchEngine(memory, threads, out.absolute().parent)
    with _Opened.read(recipe_of(registered), engine, progress) as opened:
        plan = opened.plan(registered.name, level, registered.keyed)
        request = Request(
            registered.name, recipient, level, opened.digest(secret), secret.commitment(),
            opened.fingerprint(secret), plan.version.likelihood_ratio, asking,
        )  # fmt: skip
        begun = known.version_of(registered.name, recipient, level)
        if begun is None or begun.status != "reserved":
            check_new(out)  # before anything is reserved
        release = known.reserve(request)
        again = release.status == "committed"
        if not registered.keyed:
            plan = replace(plan, source=_recorded(known, registered, opened, release))

        def published() -> Published | Streamed:
            if opened.streamed is None or engine is None:
                return plan.run(opened.table, secret, LocalEngine(threads), progress)
            return plan.stream(opened.streamed.rows, secret, engine, progress)

        def sealed(content: str) -> str:
            return _sealed(secret, "content", content)

        def written(place: Path) -> Certificate:
            return write_bundle(
                place, opened.recipe, opened.source, plan, published(), secret, signing,
                is_wanted=lambda content: not again or sealed(content) == release.content,
            )  # fmt: skip

        certificate = None if again else _left_behind(out, written)
        if certificate is None:
            certificate = written(out)
    with _said_of_the_bundle(out, again):
        if again:
            release = known.repeat(release.id, sealed(certificate.content), asking)
        else:
            release = known.commit(release.id, sealed(certificate.content), asking, {"bundle": str(out)})
    if not registered.keyed:
        _store(registered).keep_only({release.id, _latest(known, registered.name) or ""})
    return Issued(out, release, certificate, again)


def recipe_of(dataset: Dataset) -> Recipe:
    """The recipe as it was when the dataset was registered; editing the file changes nothing."""
    return Recipe.parse(tomllib.loads(dataset.details["recipe"]), Path(dataset.details["folder"]))


def _left_behind(out: Path, written: Callable[[Path], Certificate]) -> Certificate | None:
    """The bundle of a run that was killed before it could commit. Its word is not taken for it: the bundle is made
    again beside it, and one that differs in a single byte is refused."""
    if not os.path.lexists(out):
        return None
    with scratch_beside(out) as scratch:
        certificate = written(scratch / "bundle")
        if same_files(out, scratch / "bundle"):
            return certificate
    check_new(out)
    return None


@contextlib.contextmanager
def _said_of_the_bundle(out: Path, again: bool) -> Iterator[None]:
    """By now the bundle is there: who reads that the ledger failed must not take it for not made."""
    advice = "remove it, and ask again" if again else "ask again with the same --out before you give it to anyone"
    try:
        yield
    except LedgerError as error:
        hint = f"The bundle {out} is made, and the ledger does not say so: {advice}."
        raise LedgerError(error.must, error.got, hint) from None


def _store(dataset: Dataset) -> VersionStore:
    return VersionStore(Path(dataset.details["versions"]), dataset.name)


def _latest(known: Ledger, dataset: str) -> str | None:
    """The last release that was committed: with a history they are made one after another."""
    committed = [r.id for r in known.releases(dataset) if r.status == "committed"]
    return committed[-1] if committed else None


def _recorded(known: Ledger, dataset: Dataset, opened: _Opened, release: Release) -> RecordedLevels:
    """multi-pert: a new version is drawn, and remembered on disk before any bundle shows it.

    Two processes may be at it. The file that is there first stands, and both read it; where one of them has
    committed meanwhile, what it committed is in the latest history.
    """
    store = _store(dataset)

    def source(as_of: str | None) -> RecordedLevels:
        return RecordedLevels(
            opened.design, opened.table.records, histories={} if as_of is None else store.read(as_of)
        )

    if release.status == "reserved" and not store.has(release.id):
        drawn = source(_latest(known, dataset.name))
        drawn.version(release.level, opened.codes())
        store.write(release.id, drawn.histories)
    now = known.version_of(dataset.name, release.recipient, release.level)
    begun = now is not None and now.status == "reserved"
    return source(release.id if begun else _latest(known, dataset.name))


def issued_versions(
    ledger: str | Path, recipients: list[str], dataset: str | None = None, key: str | Path | None = None
) -> tuple[LevelDesign, dict[str, Codes], list[tuple[str, Level, dict[str, Codes]]]]:
    """The true codes, and every version the recipients hold, made again and compared with what was committed."""
    known = Ledger.open(ledger)
    registered = known.dataset(dataset)
    registered.check_digests()
    secret = Key.read(key or registered.details["key_file"])
    with _Opened.read(recipe_of(registered)) as opened:
        pass  # in memory: nothing of it ends with the block
    if secret.commitment() != registered.key or opened.digest(secret) != registered.source:
        raise RefusedError("The source and the key must be those the dataset was registered with", "changed ones")
    codes, versions = opened.codes(), []
    for name in recipients:
        releases = [r for r in known.state().live(registered.name) if r.recipient == name]
        if not releases:
            raise LedgerError("Every recipient must have a release in the ledger", repr(name))
        for release in releases:
            if not (registered.keyed or release.status == "committed" or _store(registered).has(release.id)):
                continue  # reserved, and not drawn yet: no one can hold it
            plan = opened.plan(registered.name, release.level, registered.keyed)
            if not registered.keyed:
                plan = replace(plan, source=_recorded(known, registered, opened, release))
            context = plan.context(commitment_to(codes, secret))
            versions.append((name, release.level, plan.draw(codes, secret, context, LocalEngine(), no_progress)))
    if not versions:
        raise LedgerError("The recipients must hold a version", "none")
    return opened.design, codes, versions
