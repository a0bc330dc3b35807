"""A Spark session to work in: the one that is active, or one that is started and stopped here.

Spark spills what does not fit in memory to the executors' disks, task binaries (and with them subkeys) among it,
so a session must encrypt its temporary files. One that does not is refused. On a cluster subkeys and rows travel,
so it must authenticate and encrypt its connections as well, unless its holder says that everyone there is trusted.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pramana.errors import EngineError, MissingExtraError, install_command

_QUIET = Path(__file__).with_name("spark-log4j2.properties")
_QUOTING = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_ENCRYPTED = "spark.io.encryption.enabled"
_AUTHENTICATED = "spark.authenticate"
_ENCRYPTED_NETWORK = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled")  # either of them
TRUST_EVERYONE = "spark.pramana.trustEveryoneOnTheNetwork"
_MASTER = re.compile(
    r"local(\[(\*|[1-9]\d*)(, *[1-9]\d*)?\])?|local-cluster\[[\d, ]+\]|yarn|k8s://.+|spark://[^,]+:\d+(,[^,]+:\d+)*"
)
_LOCAL = re.compile(r"local(\[.*\])?")  # threads of the driver: nothing leaves its process but to Python beside it


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Spark warns of any pandas it does not know; nothing here goes through pandas.

    Nor may it say of an expression that failed at which value: what is told of failures is told elsewhere.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        quoting = _loggers()
        before = [logger.disabled for logger in quoting]
        try:
            for logger in quoting:
                logger.disabled = True
            yield
        finally:
            for logger, disabled in zip(quoting, before, strict=True):
                logger.disabled = disabled


def _loggers() -> list[logging.Logger]:
    """Those by which PySpark tells of failed expressions; they must be of its own kind, which takes more words."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # there is no Spark, or one that does not log them
        return []
    usual = logging.getLoggerClass()
    try:
        return [PySparkLogger.getLogger(name) for name in _QUOTING]
    finally:
        logging.setLoggerClass(usual)  # which PySpark changes for everyone


@contextlib.contextmanager
def session(master: str | None, options: dict[str, str], frame: Any = None) -> Iterator[Any]:
    """The session of a frame, or the active one; if there is none, a new one, which is stopped at the end."""
    with quiet():
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingExtraError(
                "The Spark engine must have PySpark", "none", f"Install it: {install_command('spark')}."
            ) from None
        active = SparkSession.getActiveSession() if frame is None else frame.sparkSession
        if active is not None:
            _check(active, master)
            yield active
            return
        started = _started(SparkSession, "local[*]" if master is None else master, options)
        try:
            check_network(started.sparkContext.master, _settings(started))
            yield started
        finally:
            started.stop()


def _check(active: Any, master: str | None) -> None:
    if "connect" in type(active).__module__.split("."):
        raise EngineError(
            "The Spark engine must have a session of its own kind", "Spark Connect", "Run on the driver itself."
        )
    if master is not None and active.sparkContext.master != master:
        raise EngineError(
            f"The Spark session in use must be at {master}",
            str(active.sparkContext.master),
            "Stop it, or leave the master out to use it.",
        )
    settings = _settings(active)
    if not _is_on(settings, _ENCRYPTED):
        raise EngineError(
            "A Spark session must encrypt its temporary files",
            "one that does not",
            f"Start it with {_ENCRYPTED} = true.",
        )
    check_network(active.sparkContext.master, settings)


def _settings(spark: Any) -> dict[str, str]:
    return dict(spark.sparkContext.getConf().getAll())


def _is_on(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "false").strip().lower() == "true"


def check_network(master: str, settings: Mapping[str, str]) -> None:
    """Refuse a cluster where whoever reaches its network could read what travels, or have code run."""
    if _LOCAL.fullmatch(master) or _is_on(settings, TRUST_EVERYONE):
        return
    off = [] if _is_on(settings, _AUTHENTICATED) else [_AUTHENTICATED]
    if not any(_is_on(settings, name) for name in _ENCRYPTED_NETWORK):
        off.append(_ENCRYPTED_NETWORK[0])
    if off:
        raise EngineError(
            "A Spark cluster must authenticate its processes and encrypt what they send",
            f"one with {' and '.join(off)} off",
            f"Set {' and '.join(f'{name} = true' for name in off)} in spark-defaults.conf, or {TRUST_EVERYONE} = "
            "true where whoever reaches this network may read the rows and undo the release.",
        )


def _started(builder_of: Any, master: str, options: dict[str, str]) -> Any:
    if _MASTER.fullmatch(master) is None:  # Spark would tell by a page of its own
        raise EngineError(
            "The master of a Spark session must be a URL that Spark knows",
            repr(master),
            "Such as local[2], spark://host:7077, yarn or k8s://https://host.",
        )
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java" if not home else str(Path(home) / "bin" / "java")) is None:
        raise EngineError(
            "The Spark engine must have Java 17 or newer",
            "none in JAVA_HOME" if home else "none",
            "Install it, or set JAVA_HOME.",
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take whatever python3 is
    settings = {
        _ENCRYPTED: "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_QUIET.as_uri()}",
        **options,
    }
    builder = builder_of.builder.master(master).appName("pramana")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # whatever the JVM says is long and not about the user's data
        here = _LOCAL.fullmatch(master) is not None
        hint = "Is Java 17 or newer installed?" if here else "Is it running, and can it be reached from here?"
        raise EngineError(f"A Spark session must start at {master}", type(error).__name__, hint) from None
