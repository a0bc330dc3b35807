"""open -> plan -> publish -> write. Their order is the privacy argument: nothing appears before all is known."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.bundle import Certificate, JsonObject, check_new, name_here, sweep
from pramana.calibration import Usefulness
from pramana.errors import BundleError, KeyFileError, RecipeError
from pramana.methods import method_named
from pramana.pipeline.opening import Home, RecipeLike, opened_source, read_recipe, source_of
from pramana.pipeline.repeats import watched_columns
from pramana.pipeline.table_copy import check_target
from pramana.pipeline.usefulness import check_useful
from pramana.pipeline.writing import Destination, write_bundle
from pramana.randomness import Key
from pramana.rows import Progress, bytes_of, no_progress
from pramana.stores import AnyPath, local_path, located, path_here

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pramana.methods import AnyRecipe, Plan
    from pramana.pipeline.booking import Commit
    from pramana.rows import Rows, SparkEngine


@dataclass(frozen=True)
class Released:
    """Where a bundle and its key lie, and what the bundle certifies."""

    out: AnyPath
    certificate: Certificate
    key_file: Path | None
    formulas: tuple[str, ...] = ()  # columns of a CSV with texts that a spreadsheet would run
    ledger: tuple[str, ...] = ()  # what all releases about these people come to, for the holder
    notes: tuple[str, ...] = ()  # how the source was understood and what was lost of it, for its holder alone
    usefulness: Usefulness = field(default_factory=Usefulness)  # what its tables are worth

    @property
    def bundle(self) -> Path:
        """The folder, where it is one of this machine."""
        return path_here(self.out, "The bundle")

    @property
    def records(self) -> int:
        return self.certificate.records

    @property
    def guarantees(self) -> tuple[JsonObject, ...]:
        return self.certificate.guarantees


def release(
    recipe: RecipeLike,
    out: str | AnyPath,
    *,
    data: object = None,
    key: Key | str | Path | None = None,
    seed: int | None = None,
    sign: str | Path | None = None,
    threads: int = 0,
    memory: int | str | None = None,
    engine: str | SparkEngine = "local",
    progress: Progress = no_progress,
    show_values: bool = False,
    even_if_useless: bool = False,
) -> Released:
    """Publish the recipe's table as a bundle in the new folder `out`, which may be the URL of one in a store.

    `data` is a data frame to use instead of the recipe's path. Without a `key` one is created and kept beside
    the bundle as OUT.key, readable by its owner alone: whoever has it can undo the release. The key of a bundle
    in a store is kept where the command runs, as NAME.key. `seed` makes a
    reproducible release that is marked as not private. With `memory`, in bytes, the table streams through within
    that bound; so it does without, where it looks larger than this machine's memory. The bytes are the same.
    `engine` is "local", or "spark" for the active Spark session (or a new one), or a SparkEngine that names
    another; `data` may then be a Spark DataFrame. Those bytes are the same, too. A release from which
    nothing can be learned is refused with advice, unless `even_if_useless`; its report says so.

    >>> pramana.release("recipe.toml", "published").guarantees[0]["notion"]  # doctest: +SKIP
    'pk-anonymity'
    """
    read, out = read_recipe(recipe), located(out, "The output", BundleError)
    if data is None and read.source.of_catalogue:
        with Home(engine, bytes_of(memory)).catalogue(source_of(read)) as frame:
            return release(
                read, out, data=frame, key=key, seed=seed, sign=sign, threads=threads, engine=engine,
                progress=progress, show_values=show_values, even_if_useless=even_if_useless,
            )  # fmt: skip
    sweep(out)
    check_new(out)
    check_target(read.output)
    secret, key_file = _key_for(out, key, seed)
    signing = _signing_key(sign)
    method = method_named(read.method)
    home = Home(engine, bytes_of(memory), threads, name_here(out).parent, progress, show_values)
    can = method.capabilities(read.release)
    home.check(method.name, can)
    source = opened_source(read, data)
    watched = watched_columns(read, source)
    if read.output.copy_format is not None:
        from pramana.sources import check_export

        check_export(read.output.copy_format)
        home.check_in_memory(source, can, f"output.format = {read.output.format!r}")
    formulas: list[str] = []
    with home.open(source, method.readings(read), secret, method.name, can, read.unit, watched) as rows:
        plan = method.plan(read, rows)
        rows.settle(plan.attributes)
        publication = plan.publish(rows)
        if not even_if_useless:
            check_useful(read, publication.plan, publication.usefulness, rows)
        destination = Destination(out, secret, key_file, signing, tell_formulas=formulas.extend, threads=threads)
        given = None if key is None or isinstance(key, Key) else local_path(key, "The key file", KeyFileError)
        kept_at = given or key_file
        with _booked(read, publication.plan, rows, secret, kept_at, out) as commit:
            certificate = write_bundle(read, source, publication, destination)
            told = commit(certificate)
    notes = (*source.notes.sentences(), *publication.notes)
    return Released(out, certificate, key_file, tuple(formulas), told, notes, publication.usefulness)


def _booked(
    recipe: AnyRecipe, plan: Plan, rows: Rows, key: Key, kept_at: Path | None, out: AnyPath
) -> contextlib.AbstractContextManager[Commit]:
    """In the ledger that the recipe names; few name one, and what keeps it loads for them alone."""
    if recipe.ledger is None:
        return contextlib.nullcontext(lambda _: ())
    from pramana.pipeline.booking import Holding, booked

    return booked(recipe, plan, rows, Holding(key, kept_at, out))


def _signing_key(sign: str | Path | None) -> Ed25519PrivateKey | None:
    if sign is None:
        return None
    from pramana.bundle import read_signing_key

    return read_signing_key(sign)


def _key_for(out: AnyPath, key: Key | str | Path | None, seed: int | None) -> tuple[Key, Path | None]:
    """The key, and where to keep it if it is new."""
    if seed is not None:
        if key is not None:
            raise RecipeError("A release must have a key or a seed", "both")
        return Key.from_seed(seed), None
    if key is None:
        key_file = name_here(out).with_name(out.name + ".key")
        if key_file.exists() or key_file.is_symlink():
            raise RecipeError(
                f"The key file {key_file} must not exist yet",
                "an existing one",
                f"Pass --key {key_file.name} to re-make the release it belongs to, or move it away.",
            )
        return Key.create(), key_file
    return (key if isinstance(key, Key) else Key.read(key)), None
