"""Versions for recipients: reserve in the ledger, make the bundle, commit.

A run may be killed anywhere. What it leaves is a reservation that the same request takes up again, and then
either no bundle or a whole one.
"""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pramana.bundle.certificate import Certificate
from pramana.bundle.signing import read_signing_key
from pramana.errors import BundleError, KeyFileError, LedgerError, RecipeError, RefusedError
from pramana.files.atomic import regular_text
from pramana.files.folder import check_new, is_taken, name_here, same_files, scratch_beside, sweep
from pramana.files.locations import local_path, located, path_here, path_text
from pramana.files.secret import check_outside_bundles
from pramana.files.store_path import AnyPath, StorePath
from pramana.ledger.ledger import Ledger
from pramana.ledger.rules import Request
from pramana.ledger.state import Dataset, Release
from pramana.ledger.store import is_ledger_file
from pramana.ledger.turns import whoami
from pramana.mechanisms.history import RecordedLevels
from pramana.mechanisms.levels import LevelDesign
from pramana.methods.levels.method import (
    LevelPlan,
    LevelsRecipe,
    LevelsSetting,
    attributes_at_levels,
    design_of,
    version_at,
)
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.methods.usefulness import Usefulness
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.rows.engines import bytes_of
from pramana.rows.protocol import Progress, Rows, no_progress
from pramana.run.booking import DatasetKey, DigestUnderKeys, VersionStore, sealed
from pramana.run.config import ExecutionConfig, source_of
from pramana.run.run import Run
from pramana.run.write import Destination
from pramana.schema.domain import Attribute
from pramana.theory.levels import Level

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine


_EVERYBODY = "*"  # among the recipients that a recipe allows levels to


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

    out: AnyPath
    release: Release
    certificate: Certificate
    again: bool
    usefulness: Usefulness = field(default_factory=Usefulness)

    @property
    def bundle(self) -> Path:
        """The folder, where it is one of this machine."""
        return path_here(self.out, "The bundle")


@dataclass(frozen=True)
class _LevelRun:
    """A run of a table in levels, encoded, and everything about it that no level changes."""

    run: Run
    recipe: LevelsRecipe
    attributes: tuple[Attribute, ...]
    design: LevelDesign

    @classmethod
    @contextlib.contextmanager
    def open(cls, recipe: AnyRecipe, key: Key, config: ExecutionConfig) -> Iterator[_LevelRun]:
        if not isinstance(recipe.release, LevelsSetting):
            raise RecipeError('The recipe of a ledger must have method = "levels"', repr(recipe.method))
        if recipe.output.url is not None:
            raise RecipeError(
                "The recipe of a ledger must name no table in [output]",
                repr(recipe.output.table),
                "Each recipient's version is a bundle of its own.",
            )
        if config.memory is not None and recipe.release.history:
            raise RecipeError("Versions with a history must be issued from a table in memory", "a bound on memory")
        own = cast(LevelsRecipe, recipe)
        with Run.of_recipe(recipe, source_of(recipe), key, config) as run:
            attributes = attributes_at_levels(own, run.rows)
            run.rows.encode(attributes)
            yield cls(run, own, attributes, design_of(own, attributes))

    @property
    def rows(self) -> Rows:
        return self.run.rows

    def codes(self) -> dict[str, Codes]:
        return self.rows.whole().codes(self.design.sizes)

    def fingerprint(self, key: Key) -> str:
        """What must not change between versions: the attributes with their domains, and the design.

        Under the key: a domain may have been read from the table.
        """
        stated = json.dumps([[a.to_json() for a in self.attributes], self.design.to_json()], sort_keys=True)
        return sealed(key, "design", stated.encode())

    def plan(self, dataset: str, level: Level) -> LevelPlan:
        return version_at(self.recipe, self.attributes, self.design, level, self.rows.records, dataset)


# ---------------------------------------------------------------- create


def _total_limit(setting: LevelsSetting) -> Fraction | None:
    """The most that all versions about the same people may cost."""
    if setting.total_epsilon is None:
        return None
    if not setting.people:
        raise RecipeError("total_epsilon must say about whom it is", "no people", 'Write people = "...".')
    return Fraction(str(setting.total_epsilon))


def create_levels(
    ledger: str | Path,
    recipe: str | Path,
    *,
    name: str | None = None,
    key: str | Path | None = None,
    who: str | None = None,
    independent: bool = False,
    memory: int | str | None = None,
    engine: str | SparkEngine = "local",
    progress: Progress = no_progress,
) -> Created:
    """Register a recipe's table under a new key, and make the ledger if there is none.

    Args:
        ledger: A SQLite file, or the URL of a PostgreSQL database.
        recipe: The path of a recipe with method = "levels".
        name: What the dataset is called; without it, as the recipe says.
        key: Where the new key is kept; without it, beside the ledger.
        who: Who asks, for the ledger; without it, the user of this process.
        independent: Register a table that is registered already as one of its own.
        memory: A bound in bytes, or text such as "2 GB", within which the table streams through.
        engine: "local", "spark" for the active Spark session (or a new one), or a SparkEngine.
        progress: Called with the stage, how much of it is done, and how much there is.

    Returns:
        The dataset that was registered, and where its key lies.

    Raises:
        RecipeError: The recipe is wrong, or of another method.
        LedgerError: The ledger cannot be read or written.
        RefusedError: The table is registered already.

    >>> import pramana
    >>> pramana.create_levels("new.ledger", "levels.toml").records
    2000
    """
    if key is None and not is_ledger_file(ledger):
        raise LedgerError(
            "With a ledger in PostgreSQL the key file must be given", "no key file", "Say --key FILE."
        )
    ledger = path_text(ledger, "The ledger", LedgerError)
    recipe = local_path(recipe, "The recipe", RecipeError)
    key = None if key is None else local_path(key, "The key file", KeyFileError)
    check_outside_bundles(Path(f"{ledger}.key") if key is None else key)
    read = Recipe.read(recipe)
    text = regular_text(recipe)
    if not text:
        raise RecipeError("The recipe of a ledger must be a file, which can be read again", "a pipe")
    config = ExecutionConfig(engine, bytes_of(memory), folder=recipe.absolute().parent, progress=progress)
    with _LevelRun.open(read, Key.create(), config) as opened:
        setting = opened.recipe.release
        title = name or read.source.dataset or recipe.stem
        limit = _total_limit(setting)
        # the highest level of each recipient; that of "" is everybody's
        allowed = {"" if name == _EVERYBODY else name: Level.of(at) for name, at in setting.allowances.items()}
        known = Ledger.create(ledger)  # everything that could be wrong with the recipe has been found by now
        key_file = key if key is not None else _new_key_file(ledger, title, known)
        versions = Path(f"{ledger}.versions") if is_ledger_file(ledger) else key_file.with_suffix(".versions")
        dataset_key = DatasetKey.at(key_file)
        wanted = Dataset(
            title,
            opened.rows.commitment(dataset_key.key),
            dataset_key.key.commitment(),
            opened.fingerprint(dataset_key.key),
            opened.rows.records,
            setting.people,
            not setting.history,
            allowed,
            limit,
            {
                "recipe": text,
                "folder": str(recipe.absolute().parent),
                "key_file": str(key_file.absolute()),
                "versions": str(versions.absolute()) if setting.history else None,
            },
        )
        under = DigestUnderKeys.prepared(opened.rows.commitment, known, wanted.records)
        try:
            warnings = known.add_dataset(wanted, who or whoami(), under, independent, dataset_key.keep)
        except BaseException:
            dataset_key.give_up(known)
            raise
    return Created(wanted.name, wanted.records, key_file, warnings)


def _new_key_file(ledger: str | Path, dataset: str, known: Ledger) -> Path:
    only = not known.state().datasets
    if not only and not dataset.replace("-", "").replace("_", "").isalnum():
        raise LedgerError(
            "The name of a dataset must be letters, digits, - and _ to name its key file", repr(dataset)
        )
    return Path(f"{ledger}.key" if only else f"{ledger}.{dataset}.key")


# ---------------------------------------------------------------- issue


def issue(
    ledger: str | Path,
    recipient: str,
    level: Level | str | float,
    out: str | AnyPath,
    *,
    dataset: str | None = None,
    key: str | Path | None = None,
    who: str | None = None,
    sign: str | Path | None = None,
    threads: int = 0,
    memory: int | str | None = None,
    engine: str | SparkEngine = "local",
    progress: Progress = no_progress,
    even_if_useless: bool = False,
) -> Issued:
    """A recipient's version at a level, as a bundle in a new folder. Asked again, it is the same data.

    A version from which nothing can be learned is refused with advice, unless `even_if_useless`; its report says
    so.

    Args:
        ledger: The ledger that the dataset is registered in.
        recipient: Who gets the version.
        level: The level, such as 0.3.
        out: The new folder, or the URL of one in a store.
        dataset: Which dataset; without it, the only one.
        key: The dataset's key file, where it is not at its place.
        who: Who asks, for the ledger; without it, the user of this process.
        sign: The file of a signing key.
        threads: How many threads to use; 0 for as many as there are cores.
        memory: A bound in bytes, or text such as "2 GB", within which the table streams through.
        engine: "local", "spark" for the active Spark session (or a new one), or a SparkEngine.
        progress: Called with the stage, how much of it is done, and how much there is.
        even_if_useless: Issue also where nothing can be learned from the version.

    Returns:
        Where the bundle lies, and the release as the ledger has it.

    Raises:
        RefusedError: The version would break what was promised.
        LedgerError: The ledger cannot be read or written.
        UselessError: Nothing could be learned from the version.
        BundleError: The folder exists already.

    >>> import pramana
    >>> pramana.issue("releases.ledger", "ministry", 0.3, "for-ministry").release.status
    'committed'
    """
    out, level, asking = located(out, "A version's folder", BundleError), Level.of(level), who or whoami()
    signing = None if sign is None else read_signing_key(sign)
    known = Ledger.open(ledger)
    registered = known.dataset(dataset)
    registered.check_digests()
    secret = Key.read(key or registered.details["key_file"])
    config = ExecutionConfig(engine, bytes_of(memory), threads, name_here(out).parent, progress)
    with _LevelRun.open(recipe_of(registered), secret, config) as opened:
        plan = opened.plan(registered.name, level)
        usefulness = plan.usefulness()
        if not even_if_useless:  # before anything is reserved
            opened.run.check_useful(plan, usefulness)
        guarantees = opened.run.reconcile(plan)
        request = Request(
            registered.name,
            recipient,
            level,
            opened.rows.commitment(secret),
            secret.commitment(),
            opened.fingerprint(secret),
            plan.mechanism.likelihood_ratio,
            asking,
        )
        sweep(out)
        begun = known.version_of(registered.name, recipient, level)
        if begun is None or begun.status != "reserved":
            check_new(out)  # before anything is reserved
        release = known.reserve(request)
        again = release.status == "committed"
        if not registered.keyed:
            plan = replace(plan, recorded=_recorded(known, registered, opened, release))

        def is_wanted(content: str) -> bool:
            return not again or sealed(secret, "content", content.encode()) == release.content

        def written(folder: AnyPath, compared: bool = False) -> Certificate:
            to = Destination(folder, secret, None, signing, is_wanted, threads=config.threads, compared=compared)
            return opened.run.write(opened.run.publish(plan), guarantees, to)

        certificate = None if again else _left_behind(out, written)
        if certificate is None:
            certificate = written(out)
    content = sealed(secret, "content", certificate.content.encode())
    with _said_of_the_bundle(out, again):
        if again:
            release = known.repeat(release.id, content, asking)
        else:
            release = known.commit(release.id, content, asking, {"bundle": str(out)})
    if not registered.keyed:
        _store(registered).keep_only({release.id, _latest(known, registered.name) or ""})
    return Issued(out, release, certificate, again, usefulness)


def recipe_of(dataset: Dataset) -> AnyRecipe:
    """The recipe as it was when the dataset was registered; editing the file changes nothing."""
    return Recipe.parse(tomllib.loads(dataset.details["recipe"]), Path(dataset.details["folder"]))


def _left_behind(out: AnyPath, written: Callable[[AnyPath, bool], Certificate]) -> Certificate | None:
    """The bundle of a run that was killed before it could commit.

    Its word is not taken for it: the bundle is made again beside it, and one that differs in a byte is refused.
    """
    if not is_taken(out):
        return None
    if isinstance(out, StorePath):
        return written(out, True)
    with scratch_beside(out) as scratch:
        certificate = written(scratch / "bundle", False)
        if same_files(out, scratch / "bundle"):
            return certificate
    check_new(out)
    return None


@contextlib.contextmanager
def _said_of_the_bundle(out: AnyPath, again: bool) -> Iterator[None]:
    """By now the bundle is there: who reads that the ledger failed must not take it for not made."""
    advice = "remove it, and ask again" if again else "ask again with the same --out before you give it to anyone"
    try:
        yield
    except LedgerError as error:
        hint = f"The bundle {out} is made, and the ledger does not say so: {advice}."
        raise LedgerError(error.what, error.got, hint) from None


def _store(dataset: Dataset) -> VersionStore:
    return VersionStore(Path(dataset.details["versions"]), dataset.name)


def _latest(known: Ledger, dataset: str) -> str | None:
    """The last release that was committed: with a history they are made one after another."""
    committed = [r.id for r in known.releases(dataset) if r.status == "committed"]
    return committed[-1] if committed else None


def _recorded(known: Ledger, dataset: Dataset, opened: _LevelRun, release: Release) -> RecordedLevels:
    """multi-pert: a new version is drawn, and remembered on disk before any bundle shows it.

    Two processes may be at it. The file that is there first stands, and both read it; where one of them has
    committed meanwhile, what it committed is in the latest history.
    """
    store = _store(dataset)

    def source(as_of: str | None) -> RecordedLevels:
        return RecordedLevels(
            opened.design, opened.rows.records, histories={} if as_of is None else store.read(as_of)
        )

    if release.status == "reserved" and not store.has(release.id):
        drawn = source(_latest(known, dataset.name))
        drawn.version(release.own_level, opened.codes())
        store.write(release.id, drawn.histories)
    now = known.version_of(dataset.name, release.recipient, release.own_level)
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
    with _LevelRun.open(recipe_of(registered), secret, ExecutionConfig()) as opened:
        if secret.commitment() != registered.key or opened.rows.commitment(secret) != registered.source:
            raise RefusedError(
                "The source and the key must be those the dataset was registered with",
                "a changed source, or another key",
            )
        codes, versions = opened.codes(), []
        for name in recipients:
            releases = [r for r in known.state().live(registered.name) if r.recipient == name]
            if not releases:
                raise LedgerError("Every recipient must have a release in the ledger", repr(name))
            for release in releases:
                if not (registered.keyed or release.status == "committed" or _store(registered).has(release.id)):
                    continue  # reserved, and not drawn yet: no one can hold it
                plan = opened.plan(registered.name, release.own_level)
                if not registered.keyed:
                    plan = replace(plan, recorded=_recorded(known, registered, opened, release))
                versions.append((name, release.own_level, plan.version_in_order(opened.rows)))
    if not versions:
        raise LedgerError("The recipients must hold a version", "no version that was made")
    return opened.design, codes, versions
