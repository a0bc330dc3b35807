"""A bundle as a study: verified, then opened for questions. Estimation itself knows no files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError
from pramana.io.source import Source
from pramana.methods.protocol import Doubt, Plan, Version
from pramana.methods.registry import restore
from pramana.randomness.key import Key
from pramana.randomness.samplers import joint_codes
from pramana.recipient.answers import Crosstab
from pramana.recipient.axes import BundleAxes, cell_study_of
from pramana.recipient.cell_study import CellStudy
from pramana.recipient.filters import Filter
from pramana.recipient.inversion import DEFAULT_CONFIDENCE
from pramana.recipient.study import PartCounts, PartWork, Study
from pramana.rows.protocol import ColumnReading
from pramana.run.config import ExecutionConfig
from pramana.run.verify import verify

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine


BundleLike = str | Path | Bundle | Sequence[str | Path | Bundle]


def open_study(
    bundle: BundleLike,
    *,
    unverified: bool = False,
    weights: str | None = None,
    engine: str | SparkEngine = "local",
) -> Study | CellStudy:
    """The bundle, ready for questions. A bundle that fails verification is refused unless told otherwise.

    Of a release with a law the answers are corrected by it; of others they are what their cells make one expect.
    Several bundles must be versions of one table at levels: the one that keeps most tells all that they tell
    together, and is asked. `weights` names a column of survey weights that was released unchanged. With `engine`
    "spark" or a SparkEngine the combinations of randomised columns are counted on Spark, and the parts of a set
    of files are verified there.

    >>> pramana.open_study("published").share("income = high", "sex = F").estimate  # doctest: +SKIP
    0.11
    """
    config = ExecutionConfig(engine)
    opened, plan = best_of(bundle, unverified, config)
    axes = BundleAxes(opened)
    if weights is not None:
        if weights not in axes:
            raise BundleError("Survey weights must be a column of the release", repr(weights))
        if not opened.certificate.attribute(weights).raw or plan.doubt(weights) != Doubt():
            raise BundleError("Survey weights must be a column released unchanged", f"{weights!r}, changed")
    study = study_of(opened, plan, axes, config.spark())
    if study is None:
        return cell_study_of(opened, plan, axes, weights)
    return replace(study, weights=weights)


def crosstab(
    bundle: BundleLike,
    by: Sequence[str],
    where: str | Filter | None = None,
    *,
    method: str = "em",
    confidence: float = DEFAULT_CONFIDENCE,
    shares: bool = False,
    profile: bool = False,
    simultaneous: bool = False,
    weights: str | None = None,
    unverified: bool = False,
    engine: str | SparkEngine = "local",
) -> Crosstab:
    """Cross-tabulate a bundle: estimated counts of the private table by the values of `by`, with intervals.

    >>> pramana.crosstab("published", ["sex"]).cells()[0]["estimate"]  # doctest: +SKIP
    4987.2
    """
    with ExecutionConfig(engine).running():
        study = open_study(bundle, unverified=unverified, weights=weights, engine=engine)
        return study.crosstab(
            by,
            where,
            method=method,
            confidence=confidence,
            shares=shares,
            profile=profile,
            simultaneous=simultaneous,
        )


def best_of(
    bundle: BundleLike, unverified: bool = False, config: ExecutionConfig | None = None
) -> tuple[Bundle, Plan]:
    """The bundle; of several versions of one table, the one that keeps most.

    Versions at levels are steps of one process, in which a lower one is a noisier copy of a higher one: beside the
    highest the others tell nothing (paper 3).
    """
    places = list(bundle) if isinstance(bundle, list | tuple) else [cast("str | Path | Bundle", bundle)]
    if not places:
        raise BundleError("Questions must be asked of a bundle", "none")
    opened = [Bundle.open(place) for place in places]
    plans = [restore(one.certificate) for one in opened]
    best = 0 if len(opened) == 1 else _highest(opened, [plan.version for plan in plans])
    if not unverified:
        for place, one in zip(places, opened, strict=True):
            require_valid(one, place, config)
    return opened[best], plans[best]


def _highest(bundles: Sequence[Bundle], versions: Sequence[Version | None]) -> int:
    kept = [version.kept for version in versions if version is not None]
    tables = {version.of for version in versions if version is not None}
    sources = {bundle.certificate.source.get("commitment") for bundle in bundles}
    if len(kept) < len(versions) or len(tables) > 1 or len(sources) > 1:
        raise BundleError(
            "Several bundles must be versions of one table at levels", "others", "Ask each of them on its own."
        )
    return kept.index(max(kept))


def require_valid(bundle: Bundle, name: object, config: ExecutionConfig | None = None) -> None:
    """Refuse a bundle that fails verification, which is made at `config`; messages call it by `name`."""
    engine = "local" if config is None else config.engine
    failed = [check for check in verify(bundle, engine=engine).checks if not check.ok]
    if failed:
        raise BundleError(
            f"The bundle {name} must pass verification",
            f"{failed[0].name}: {failed[0].detail}",
            "Ask its holder for a good copy; --unverified goes on regardless.",
        )


def counted_on(engine: SparkEngine, bundle: Bundle, names: list[str]) -> NDArray[np.int64] | None:
    """How often each combination of published values occurs; None where a column has no public domain."""
    from pramana.rows.protocol import no_progress
    from pramana.rows.spark.rows import SparkRows

    named = [bundle.certificate.attribute(name) for name in names]
    if any(a.raw for a in named):
        return None
    if bundle.certificate.parts is not None and bundle.fetched is None:
        work = partial(_cells_of, names, tuple(a.coded.size for a in named))
        return np.asarray(sum(replace(bundle, spread=engine).each_part(work)), np.int64)
    form = bundle.certificate.output
    # Executors read what lies in a store where it lies: the copy of this machine is not theirs.
    path = bundle.data_path if bundle.fetched is None else bundle.fetched.origin / bundle.data_path.name
    source = Source(path=path, format=form, trim=form != "csv")  # published as it is
    readings = [ColumnReading(a.name, a.coded.as_published()) for a in named]
    with SparkRows.open(source, readings, Key.create(), engine, no_progress) as rows:
        return rows.counts(names, [a.coded.size for a in named])


def _cells_of(names: list[str], shape: tuple[int, ...], bundle: Bundle) -> NDArray[np.int64]:
    counts = np.zeros(math.prod(shape), np.int64)
    for columns in bundle.pieces(names):
        counts += np.bincount(joint_codes([columns[name] for name in names], shape), minlength=len(counts))
    return counts.reshape(shape)


def worked_on_parts(
    engine: SparkEngine, bundle: Bundle, names: list[str], work: PartWork
) -> list[PartCounts] | None:
    """What `work` makes of each part's rows, on Spark; None of one file, or with a column without a domain."""
    certificate = bundle.certificate
    if certificate.parts is None or bundle.fetched is not None or any(certificate.attribute(n).raw for n in names):
        return None
    return replace(bundle, spread=engine).each_part(partial(_worked_on, names, work))


def _worked_on(names: list[str], work: PartWork, bundle: Bundle) -> PartCounts:
    return work(bundle.pieces(names))


def study_of(bundle: Bundle, plan: Plan, axes: BundleAxes, spark: SparkEngine | None = None) -> Study | None:
    """The study of a bundle with a law; None for others, whose published values can be counted.

    With `spark` what is counted of columns with a domain is counted there.
    """
    if not plan.countable:
        raise BundleError(
            "A release must have a law that recipients can undo",
            f"method {bundle.certificate.method!r} with one that they cannot",
            "Its published values are randomised, and counts of them are wrong.",
        )
    if plan.law is None:
        return None
    records = bundle.certificate.records
    study = Study(axes, plan.law, axes.codes, records, pieces=axes.pieces, repeated=plan.repeated)
    if spark is None:
        return study
    return replace(
        study, counted=partial(counted_on, spark, bundle), parted=partial(worked_on_parts, spark, bundle)
    )
