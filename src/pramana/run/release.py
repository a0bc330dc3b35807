"""`pramana release`: one run, with its key, its ledger and the folder that it goes to; and a rehearsal of one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.errors import BundleError, KeyFileError, RecipeError
from pramana.files.folder import check_new, name_here, sweep
from pramana.files.locations import local_path, located, path_here
from pramana.files.store_path import AnyPath
from pramana.methods.registry import method_named
from pramana.methods.usefulness import Usefulness
from pramana.randomness.key import Key
from pramana.rows.engines import bytes_of
from pramana.rows.protocol import Progress, no_progress
from pramana.run.config import ExecutionConfig, RecipeLike, opened_source, read_recipe, source_of
from pramana.run.run import Run
from pramana.run.write import Destination, check_target, extra_digests

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pramana.io.source import Source
    from pramana.methods.protocol import Plan
    from pramana.methods.recipe import AnyRecipe
    from pramana.notions.guarantee import Guarantee
    from pramana.rows.spark.rows import SparkEngine
    from pramana.run.booking import Commit


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
    """Publish the recipe's table as a bundle in a new folder.

    A release from which nothing can be learned is refused with advice, unless `even_if_useless`; its report says
    so. The published bytes do not depend on `threads`, `memory` or `engine`.

    Args:
        recipe: A recipe, or the path of its TOML file.
        out: The new folder, or the URL of one in a store.
        data: A data frame to use instead of the recipe's path; on Spark, a Spark DataFrame.
        key: The key, or its file. Without it one is created and kept beside the bundle as OUT.key (of a bundle in
            a store, where the command runs), readable by its owner alone: whoever has it can undo the release.
        seed: Make a reproducible release, which is marked as not private.
        sign: The file of a signing key.
        threads: How many threads to use; 0 for as many as there are cores.
        memory: A bound in bytes, or text such as "2 GB", within which the table streams through. So it does
            without one, where it looks larger than this machine's memory.
        engine: "local", "spark" for the active Spark session (or a new one), or a SparkEngine.
        progress: Called with the stage, how much of it is done, and how much there is.
        show_values: Let messages show values of the table.
        even_if_useless: Publish also where nothing can be learned from the release.

    Returns:
        Where the bundle and its key lie, what is certified, and what its tables are worth.

    Raises:
        RecipeError: The recipe, or an argument that stands for a line of it, is wrong.
        SourceError: The table cannot be read, or does not fit the recipe.
        UnreachableError: A promise of the recipe cannot be kept.
        UselessError: Nothing could be learned from the release.
        BundleError: The folder exists already.

    >>> import pramana
    >>> pramana.release("recipe.toml", "new").guarantees[0]["notion"]
    'pk-anonymity'
    """
    read, out = read_recipe(recipe), located(out, "The output", BundleError)
    if data is None and read.source.of_catalogue:
        with ExecutionConfig(engine, bytes_of(memory)).catalogue(source_of(read)) as frame:
            return release(
                read, out, data=frame, key=key, seed=seed, sign=sign, threads=threads, engine=engine,
                progress=progress, show_values=show_values, even_if_useless=even_if_useless,
            )  # fmt: skip
    sweep(out)
    check_new(out)
    if read.output.url is not None:
        check_target(read.output)
    secret, new_key_file = _key_for(out, key, seed)
    signing = _signing_key(sign)
    config = ExecutionConfig(engine, bytes_of(memory), threads, name_here(out).parent, progress, show_values)
    source = opened_source(read, data)
    _check_copy(read, source, config)
    formulas: list[str] = []
    with Run.of_recipe(read, source, secret, config) as run:
        publication = run.publish(run.plan())
        if not even_if_useless:
            run.check_useful(publication.plan, publication.usefulness)
        guarantees = run.reconcile(publication.plan)
        to = Destination(out, secret, new_key_file, signing, tell_formulas=formulas.extend, threads=threads)
        given = None if key is None or isinstance(key, Key) else local_path(key, "The key file", KeyFileError)
        with _booked(run, publication.plan, guarantees, given or new_key_file, out) as commit:
            certificate = run.write(publication, guarantees, to)
            totals = commit(certificate)
    notes = (*source.notes.sentences(), *publication.notes)
    return Released(out, certificate, new_key_file, tuple(formulas), totals, notes, publication.usefulness)


def rehearse(recipe: RecipeLike, *, data: object = None) -> None:
    """Refuse what a release of this recipe would refuse. No file is made, and the key is forgotten.

    What does not fit in memory goes, encrypted, to a file without a name in the working directory.
    """
    read = read_recipe(recipe)
    source, output = opened_source(read, data), read.output
    with Run.of_recipe(read, source, Key.create(), ExecutionConfig(folder=Path.cwd())) as run:
        publication = run.publish(run.plan())
        run.check_useful(publication.plan, publication.usefulness)
        run.reconcile(publication.plan)
        run.digest(publication, output.data_format, output.escape_formulas)
        extra_digests(publication, output.escape_formulas)
    publication.plan.explain()


def _check_copy(recipe: AnyRecipe, source: Source, config: ExecutionConfig) -> None:
    """Refuse a copy in a format of its own where it cannot be written, before any row is read."""
    if recipe.output.copy_format is None:
        return
    from pramana.io.formats import check_export

    check_export(recipe.output.copy_format)
    can = method_named(recipe.method).capabilities(recipe.release)
    config.check(recipe.method, can)
    config.check_in_memory(source, can, f"output.format = {recipe.output.format!r}")


def _booked(
    run: Run, plan: Plan, guarantees: Sequence[Guarantee], key_file: Path | None, out: AnyPath
) -> contextlib.AbstractContextManager[Commit]:
    """In the ledger that the recipe names; few name one, and what keeps it loads for them alone."""
    if run.recipe is None or run.recipe.ledger is None:
        return contextlib.nullcontext(lambda _: ())
    from pramana.run.booking import Holding, booked

    return booked(run.recipe, plan, guarantees, run.rows, Holding(run.key, key_file, out))


def _signing_key(sign: str | Path | None) -> Ed25519PrivateKey | None:
    if sign is None:
        return None
    from pramana.bundle.signing import read_signing_key

    return read_signing_key(sign)


def _key_for(out: AnyPath, key: Key | str | Path | None, seed: int | None) -> tuple[Key, Path | None]:
    """The key, and where to keep it if it is new."""
    if seed is not None:
        if key is not None:
            raise RecipeError("A release must have a key or a seed", "a key and a seed")
        return Key.from_seed(seed), None
    if key is None:
        key_file = name_here(out).with_name(out.name + ".key")
        if key_file.exists() or key_file.is_symlink():
            raise RecipeError(
                f"The key file {key_file} already exists",
                hint=f"Pass --key {key_file.name} to re-make the release it belongs to, or move it away.",
            )
        return Key.create(), key_file
    return (key if isinstance(key, Key) else Key.read(key)), None
