"""recipe -> plan -> bundle. The order of steps is the privacy argument: nothing is written before all is known."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pramana import __version__
from pramana.engines import LEAST_MEMORY, BatchEngine, LocalEngine, Progress, no_progress
from pramana.errors import RecipeError, RefusedError
from pramana.randomness import Key
from pramana.release.certificate import Certificate, read_signing_key
from pramana.release.contents import Materials, choice_of, law_of_plan, page_of
from pramana.release.folder import check_new, named_when_whole, sweep, whole_folder
from pramana.release.method import Method, Plan, Published
from pramana.release.streamed import Streamed, Streaming, coders_for, read_streamed
from pramana.release.table_copy import check_target, table_copy
from pramana.report import Section, drawn, html_of, load_in_background
from pramana.schema import Recipe
from pramana.sources import FILE_NAMES, Source, size_in_memory, write_table

if TYPE_CHECKING:
    from pramana.engines import SparkEngine

_CLASS_OF = {  # value of release.method -> module of this room and class in it
    "retention": ("randomised", "RetentionMethod"),
    "matrix": ("randomised", "MatrixMethod"),
    "levels": ("levels", "LevelMethod"),
    "invariant": ("invariant", "InvariantMethod"),
    "generalize": ("generalized", "GeneralizeMethod"),
    "presence": ("presence", "PresenceMethod"),
}
METHODS = tuple(_CLASS_OF)
_WITH_CURVES = ("retention", "matrix")  # whose report has a picture


@dataclass(frozen=True)
class Released:
    """Where a bundle and its key lie, and what the bundle certifies."""

    bundle: Path
    certificate: Certificate
    key_file: Path | None

    @property
    def records(self) -> int:
        return self.certificate.records

    @property
    def guarantees(self) -> tuple[Any, ...]:
        return self.certificate.guarantees


def method_of(name: str) -> Method:
    if name not in _CLASS_OF:
        raise RecipeError("release.method must be one of " + ", ".join(METHODS), repr(name))
    module, made = _CLASS_OF[name]
    method: Method = getattr(importlib.import_module(f"pramana.release.{module}"), made)()
    return method


def source_of(recipe: Recipe) -> Source:
    """The table that a recipe names."""
    options = getattr(method_of(recipe.method), "source_options", lambda r: r.source)(recipe)
    return Source.from_options(options)


def release(
    recipe: Recipe | str | Path,
    out: str | Path,
    *,
    data: Any = None,
    key: Key | str | Path | None = None,
    seed: int | None = None,
    sign: str | Path | None = None,
    threads: int = 0,
    memory: int | None = None,
    engine: str | SparkEngine = "local",
    progress: Progress = no_progress,
    show_values: bool = False,
) -> Released:
    """Publish the recipe's table as a bundle in the new folder `out`.

    `data` is a data frame to use instead of the recipe's path. Without a `key` one is created and kept beside
    the bundle as OUT.key, readable by its owner alone: whoever has it can undo the release. `seed` makes a
    reproducible release that is marked as not private. With `memory`, in bytes, the table streams through within
    that bound; so it does without, where it looks larger than this machine's memory. The bytes are the same.
    `engine` is "local", or "spark" for the active Spark session (or a new one), or a SparkEngine that names
    another; `data` may then be a Spark DataFrame. Those bytes are the same, too.
    """
    if not isinstance(recipe, Recipe):
        recipe = Recipe.read(recipe)
    out = Path(out)
    sweep(out)
    check_new(out)
    check_target(recipe)
    secret, key_file = _key_for(out, key, seed)
    signing = None if sign is None else read_signing_key(sign)
    method: Any = method_of(recipe.method)
    source = source_of(recipe) if data is None else Source(frame=data)
    progress("reading", 0, 1)
    beyond: Any = spark_engine(engine, memory)
    refusal = getattr(method, "refusal", lambda _: None)(recipe)
    if beyond is None and (bound := memory_bound(source, recipe.method, memory, refusal)) is not None:
        beyond = BatchEngine(bound, threads, out.absolute().parent)
    if beyond is not None:
        method = _streaming(method, beyond)
        with _reading(recipe, method, source, secret, beyond, progress, show_values) as rows:
            plan = method.plan_streamed(recipe, rows)
            rows.settle(plan.attributes)
            streamed = plan.stream(rows.rows, secret, beyond, progress)
            certificate = write_bundle(out, recipe, source, plan, streamed, secret, signing, key_file)
        return Released(out, certificate, key_file)
    if recipe.method in _WITH_CURVES:
        load_in_background()
    table = source.read(method.columns(recipe))
    plan = method.plan(recipe, table)
    published = plan.run(table, secret, LocalEngine(threads), progress, show_values)
    progress("writing", 0, 1)
    certificate = write_bundle(out, recipe, source, plan, published, secret, signing, key_file)
    return Released(out, certificate, key_file)


def _streaming(method: Any, engine: Any) -> Any:
    """The method as it works on tables that lie elsewhere."""
    if isinstance(engine, BatchEngine) or not isinstance(method, method_of("generalize").__class__):
        return method
    from pramana.release.spread_generalized import SpreadGeneralizeMethod

    return SpreadGeneralizeMethod()


def _reading(
    recipe: Recipe,
    method: Any,
    source: Source,
    key: Key,
    engine: BatchEngine | SparkEngine,
    progress: Progress,
    show: bool,
) -> contextlib.AbstractContextManager[Any]:
    """A table that need not fit in memory, and is let go of at the end."""
    if isinstance(engine, BatchEngine):
        coders = coders_for(recipe, method, show)
        return contextlib.closing(read_streamed(source, method.columns(recipe), coders, engine, progress))
    from pramana.release.spread import read_spread

    return read_spread(recipe, method, source, key, engine, progress, show)


def spark_engine(engine: str | SparkEngine, memory: int | None) -> SparkEngine | None:
    """The Spark engine that is asked for, if one is."""
    if engine == "local":
        return None
    if isinstance(engine, str) and engine != "spark":
        raise RecipeError("The engine must be local or spark", repr(engine))
    if memory is not None:
        raise RecipeError("A bound on memory must be one for the local engine", "the Spark engine")
    from pramana.engines import SparkEngine

    return SparkEngine() if isinstance(engine, str) else engine


def memory_bound(
    source: Source, method: str, memory: int | None, refusal: RecipeError | None = None
) -> int | None:
    """The bytes within which a table streams through, or None where it is read into memory.

    `refusal` says why a method that streams does not do so with this setting.
    """
    streams = isinstance(method_of(method), Streaming) and refusal is None
    if memory is not None:
        if refusal is not None:
            raise refusal
        if not streams:
            raise RecipeError(
                "A release within a bound on memory must have a method that streams",
                f"method {method!r}",
                "Leave the bound out: the table is then read into memory.",
            )
        return memory
    own = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if streams and size_in_memory(source) > own // 2:
        return max(LEAST_MEMORY, own // 4)
    return None


def write_bundle(
    out: Path,
    recipe: Recipe,
    source: Source,
    plan: Plan,
    published: Published | Streamed,
    key: Key,
    signing: Ed25519PrivateKey | None,
    key_file: Path | None = None,
    is_wanted: Callable[[str], bool] = lambda _: True,
) -> Certificate:
    """The bundle in its folder, whole or not at all, and with it the new key, if there is one to keep.

    `is_wanted` is asked about the digest of the data before the folder takes its name.
    """
    with (
        table_copy(recipe) as copy,
        whole_folder(out, key, key_file, copy.commit if recipe.output else None) as folder,
    ):
        certificate = _write(folder, recipe, source, plan, published, key)
        if not is_wanted(certificate.content):
            raise RefusedError("A release made again must have the same content", "other content")
        if signing is not None:
            certificate = certificate.signed(signing)
        (folder / "certificate.json").write_text(certificate.text(), "utf-8")
        copy.fill(folder / FILE_NAMES[recipe.format])
    return certificate


def _key_for(out: Path, key: Key | str | Path | None, seed: int | None) -> tuple[Key, Path | None]:
    """The key, and where to keep it if it is new."""
    if seed is not None:
        if key is not None:
            raise RecipeError("A release must have a key or a seed", "both")
        return Key.from_seed(seed), None
    if key is None:
        place = out.absolute().with_name(out.name + ".key")
        if place.exists() or place.is_symlink():
            raise RecipeError(
                f"The key file {place} must not exist yet",
                "an existing one",
                f"Pass --key {place.name} to re-make the release it belongs to, or move it away.",
            )
        return Key.create(), place
    return (key if isinstance(key, Key) else Key.read(key)), None


def _write(
    folder: Path, recipe: Recipe, source: Source, plan: Plan, published: Published | Streamed, key: Key
) -> Certificate:
    """The file is written while the promises are derived and the report is drawn."""
    law = law_of_plan(plan)

    def prepared() -> tuple[Certificate, list[Section]]:
        early = Published(None, "", published.commitment) if isinstance(published, Streamed) else published
        certificate = _certificate(recipe, source, plan, early, key)
        return certificate, drawn(choice_of(Materials(certificate, law, {}, recipe.tables)))

    with ThreadPoolExecutor(1) as pool:
        if isinstance(published, Streamed):
            # Not before the first piece is there: threads that take turns with the interpreter a thousand times a
            # second, as those that randomise do, wait long for one that never rests.
            pieces, preparing = _after_first(published.pieces, lambda: pool.submit(prepared))
            with named_when_whole(folder / FILE_NAMES[recipe.format]) as place:
                done = replace(published, pieces=pieces).written(place, recipe.format)
            _write_extra(folder, done)
            certificate, choice = preparing[0].result()
            certificate = replace(certificate, content=done.content)
        else:
            writing = pool.submit(_write_data, folder, recipe.format, published)
            (certificate, choice), done = prepared(), published
        page = page_of(Materials(certificate, law, done.marginals, recipe.tables, choice=choice))
        (folder / "report.html").write_text(html_of(page), "utf-8")
        if not isinstance(published, Streamed):
            writing.result()
    files = {path.name: file_entry(path) for path in sorted(folder.iterdir())}
    return Certificate.from_json({**certificate.to_json(), "files": files})


def _after_first(pieces: Iterator[Any], start: Callable[[], Any]) -> tuple[Iterator[Any], list[Any]]:
    """The same pieces; when the first is there, what `start` returns is put into the list."""
    begun: list[Any] = []

    def passed() -> Iterator[Any]:
        for piece in pieces:
            if not begun:
                begun.append(start())
            yield piece

    return passed(), begun


def _write_data(folder: Path, format: str, published: Published) -> None:  # noqa: A002 - the recipe's word
    with named_when_whole(folder / FILE_NAMES[format]) as place:
        write_table(published.table, place, format)
    _write_extra(folder, published)


def _write_extra(folder: Path, published: Published) -> None:
    for extra, write in published.extra.items():
        write(folder / extra)


def _certificate(recipe: Recipe, source: Source, plan: Plan, published: Published, key: Key) -> Certificate:
    return Certificate(
        pramana=__version__,
        method=recipe.method,
        records=plan.records,
        attributes=plan.attributes,
        dropped=plan.dropped,
        mechanism=plan.statement(),
        source={**source.to_json(), "commitment": published.commitment},
        output=recipe.format,
        shuffled=plan.shuffled,
        guarantees=tuple(g.to_json() for g in plan.guarantees(key.seeded)),
        warnings=plan.warnings(key.seeded),
        key={"commitment": key.commitment(), "seeded": key.seeded},
        files={},
        content=published.content,
        dataset=plan.dataset,
    )


def file_entry(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}
