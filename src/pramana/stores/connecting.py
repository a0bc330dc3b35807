"""Arrow's file systems, with what the environment says of them: credentials, endpoint and region.

Who asks is said by variables of the environment: keys themselves, or where a key, a token or a role is to be had.
Where none says so nothing is looked for: neither files in the home folder nor the role of the machine.
Every call has a bounded time: a few attempts, each given up when nothing was heard for some seconds.
"""

from __future__ import annotations

import datetime
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pramana.errors import SourceError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEMES = ("s3", "gs", "abfs", "abfss", "hdfs")
_CONNECT_SECONDS = 5
_SILENT_SECONDS = 10  # without a byte
_ATTEMPTS = 3
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
# what leads the clients of the stores to credentials that lie elsewhere
_AWS_ELSEWHERE = (
    "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_AWS_MACHINE = "AWS_EC2_METADATA_DISABLED"  # "false": the role of the machine may be asked for
_GOOGLE = ("GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST", "GCE_METADATA_ROOT")
_AZURE_ELSEWHERE = ("AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT", "MSI_ENDPOINT")
_TOLD = re.compile(r"(?P<scheme>https?)://(?P<server>(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)/?")
_HOST = re.compile(r"(?P<host>[^:]*)(?::(?P<port>\d+))?")
_AZURE = re.compile(r"(?P<container>[^@]+)(?:@(?P<account>[a-z0-9]+)(?:\.dfs\.core\.windows\.net)?)?")


def file_system(scheme: str, authority: str) -> FileSystem:
    """The file system of a bucket; the same one as long as the environment stays as it is."""
    known = ("AWS_", "GOOGLE_", "GCE_", "AZURE_", "IDENTITY_", "MSI_", "HADOOP_", "STORAGE_EMULATOR_HOST")
    environment = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith(known)))
    return _connected(scheme, authority, environment)


@lru_cache(maxsize=16)
def _connected(scheme: str, authority: str, environment: tuple[tuple[str, str], ...]) -> FileSystem:
    stated = dict(environment)
    if scheme == "s3":
        return _s3(authority, stated)
    if scheme == "gs":
        from pyarrow.fs import GcsFileSystem

        if _first(stated, _GOOGLE) is None:
            raise _nobody("Google Cloud Storage", "Set GOOGLE_APPLICATION_CREDENTIALS to the file of a key.")
        return GcsFileSystem(retry_time_limit=datetime.timedelta(seconds=_SILENT_SECONDS))
    if scheme == "hdfs":
        return _hdfs(authority)
    return _azure(authority, stated)


def _first(stated: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((stated[name] for name in names if stated.get(name)), None)


def _nobody(store: str, hint: str) -> SourceError:
    return SourceError(f"The environment must say who asks {store}", "none of its variables", hint)


def _s3_credentials(stated: dict[str, str]) -> dict[str, str | None]:
    """The key, passed on; nothing where the client shall look for one, because a variable says where."""
    key, secret = (stated.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    if key and secret:
        token = stated.get("AWS_SESSION_TOKEN") or None
        return {"access_key": key, "secret_key": secret, "session_token": token}
    asked = stated.get(_AWS_MACHINE, "").strip().lower() == "false"
    if key or secret or not (asked or _first(stated, _AWS_ELSEWHERE)):
        raise _nobody(
            "S3",
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile in ~/.aws, or "
            f"{_AWS_MACHINE}=false for the role of this machine.",
        )
    return {}


def _s3(bucket: str, stated: dict[str, str]) -> FileSystem:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    options: dict[str, Any] = {"region": _first(stated, _REGIONS)}
    endpoint = _first(stated, _ENDPOINTS)
    if endpoint is not None:
        told = _TOLD.fullmatch(endpoint)
        if told is None:  # it may hold a password, and is not shown
            raise SourceError(
                "AWS_ENDPOINT_URL must be the address of a server", "something else", "Such as https://host:9000."
            )
        options |= {"scheme": told["scheme"], "endpoint_override": told["server"]}
    options |= _s3_credentials(stated)
    if endpoint is None and options["region"] is None:
        options["region"] = resolve_s3_region(bucket)
    return S3FileSystem(
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_SILENT_SECONDS,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        allow_delayed_open=True,  # a small object is one request, and never an upload in parts
        **options,
    )


def _hdfs(authority: str) -> FileSystem:
    from pyarrow.fs import HadoopFileSystem

    told = _HOST.fullmatch(authority)
    assert told is not None, "the URL was checked"
    return HadoopFileSystem(told["host"] or "default", int(told["port"] or 0))


def _azure(authority: str, stated: dict[str, str]) -> FileSystem:
    from pyarrow.fs import AzureFileSystem

    told = _AZURE.fullmatch(authority)
    account = (told and told["account"]) or stated.get("AZURE_STORAGE_ACCOUNT")
    if told is None or not account:
        raise SourceError(
            "A URL of Azure must name its account",
            "none",
            "Write abfs://container@account.dfs.core.windows.net/path, or set AZURE_STORAGE_ACCOUNT.",
        )
    secrets = {"account_key": "AZURE_STORAGE_KEY", "sas_token": "AZURE_STORAGE_SAS_TOKEN"}
    given = {option: stated[name] for option, name in secrets.items() if stated.get(name)}
    names = {
        "tenant_id": "AZURE_TENANT_ID",
        "client_id": "AZURE_CLIENT_ID",
        "client_secret": "AZURE_CLIENT_SECRET",
    }
    if not given and all(stated.get(name) for name in names.values()):
        given = {option: stated[name] for option, name in names.items()}
    if not given and _first(stated, _AZURE_ELSEWHERE) is None:
        raise _nobody(
            "Azure",
            "Set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, or AZURE_TENANT_ID, AZURE_CLIENT_ID and "
            "AZURE_CLIENT_SECRET.",
        )
    return AzureFileSystem(account, **given)


def path_in(scheme: str, authority: str, key: str) -> str:
    """What the file system calls an object."""
    if scheme == "hdfs":
        return f"/{key}"
    return f"{authority.partition('@')[0]}/{key}".rstrip("/")
