"""Arrow's file systems, with what the environment says of them: credentials, endpoint and region.

Who asks is said by variables of the environment: keys themselves, or where a key, a token or a role is to be had.
Nothing else is looked for: neither other files in the home folder nor the role of the machine.
Every call has a bounded time: a few attempts, each given up when nothing was heard for some seconds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pramana.stores.clients.azure import azure_client
from pramana.stores.clients.google import google_client
from pramana.stores.clients.s3 import s3_client
from pramana.stores.clients.told import environment_of

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEMES = ("s3", "gs", "abfs", "abfss", "hdfs")
_VARIABLES = ("AWS_", "GOOGLE_", "GCE_", "GS_", "AZURE_", "HADOOP_", "STORAGE_EMULATOR_HOST")
_HOST = re.compile(r"(?P<host>[^:]*)(?::(?P<port>\d+))?")


def file_system(scheme: str, authority: str) -> FileSystem:
    """The file system of a bucket; the same one as long as the environment stays as it is."""
    return _connected(scheme, authority, tuple(sorted(environment_of(_VARIABLES).items())))


@lru_cache(maxsize=16)
def _connected(scheme: str, authority: str, environment: tuple[tuple[str, str], ...]) -> FileSystem:
    stated = dict(environment)
    if scheme == "s3":
        return s3_client(authority, stated)
    if scheme == "gs":
        return google_client(stated)
    if scheme == "hdfs":
        return _hdfs(authority)
    return azure_client(authority, stated)


def _hdfs(authority: str) -> FileSystem:
    from pyarrow.fs import HadoopFileSystem

    told = _HOST.fullmatch(authority)
    assert told is not None, "the URL was checked"
    return HadoopFileSystem(told["host"] or "default", int(told["port"] or 0))


def path_in(scheme: str, authority: str, key: str) -> str:
    """What the file system calls an object."""
    if scheme == "hdfs":
        return f"/{key}"
    return f"{authority.partition('@')[0]}/{key}".rstrip("/")
