"""Arrow's clients of stores, made from what the environment says: credentials, endpoint and region.

Variables hold keys, or say where a key, a token or a role is to be had. Nothing else is looked for: neither other
files in the home folder nor the role of the machine. Every call has a bounded time: a few attempts, each given up
when nothing was heard for some seconds.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import os
import re
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pramana.errors import SourceError
from pramana.files.atomic import open_regular

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


SCHEMES = ("s3", "gs", "abfs", "abfss", "hdfs")
NOWHERE = "/dev/null/nowhere"  # a path at which nothing can lie
_VARIABLES = ("AWS_", "GOOGLE_", "GCE_", "GS_", "AZURE_", "HADOOP_", "STORAGE_EMULATOR_HOST")
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?P<server>(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)/?")
_one_at_a_time = threading.Lock()


def file_system(scheme: str, authority: str) -> FileSystem:
    """The file system of a bucket; the same one as long as the environment stays as it is."""
    with _one_at_a_time:  # as the user set the variables, not as another thread has them for a client
        variables = sorted((name, value) for name, value in os.environ.items() if name.startswith(_VARIABLES))
    return _connected(scheme, authority, tuple(variables))


@lru_cache(maxsize=16)
def _connected(scheme: str, authority: str, environment: tuple[tuple[str, str], ...]) -> FileSystem:
    variables = dict(environment)
    if scheme == "s3":
        return _s3_client(authority, variables)
    if scheme == "gs":
        return _google_client(variables)
    if scheme == "hdfs":
        from pyarrow.fs import HadoopFileSystem

        host, _, port = authority.partition(":")
        return HadoopFileSystem(host or "default", int(port or 0))
    return _azure_client(authority, variables)


def path_in(scheme: str, authority: str, key: str) -> str:
    """What the file system calls an object."""
    if scheme == "hdfs":
        return f"/{key}"
    return f"{authority.partition('@')[0]}/{key}".rstrip("/")


# ---------------------------------------------------------------- S3, and what speaks like it

_CONNECT_SECONDS = 5
_SILENT_SECONDS = 10  # without a byte
_ATTEMPTS = 3
_AWS_FILES = ("AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE")
_AWS_TOKENS = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_AWS_MACHINE = "AWS_EC2_METADATA_DISABLED"  # "false": the role of the machine may be asked for
_AWS_ANONYMOUS = "AWS_NO_SIGN_REQUEST"


def _s3_client(bucket: str, variables: Mapping[str, str]) -> FileSystem:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    options: dict[str, Any] = {"region": _first(variables, "AWS_REGION", "AWS_DEFAULT_REGION")}
    address = _first(variables, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    if address is not None:
        scheme, server = _server(address, "AWS_ENDPOINT_URL")
        options |= {"scheme": scheme, "endpoint_override": server}
    options |= s3_credentials(variables)
    with _environment_with(_s3_variables_off(variables)):
        if address is None and options["region"] is None:
            options["region"] = resolve_s3_region(bucket)
        return S3FileSystem(
            connect_timeout=_CONNECT_SECONDS,
            request_timeout=_SILENT_SECONDS,
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
            allow_delayed_open=True,  # a small object is one request, and never an upload in parts
            **options,
        )


def s3_credentials(variables: Mapping[str, str]) -> dict[str, Any]:
    """The key as options of the client; no option where a variable says where the client shall look for one."""
    key, secret = (variables.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    if key and secret:
        session = variables.get("AWS_SESSION_TOKEN") or None
        return {"access_key": key, "secret_key": secret, "session_token": session}
    _check_together(variables, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    if _is_yes(variables, _AWS_ANONYMOUS):
        return {"anonymous": True}
    if _asks_the_machine(variables) or _first(variables, *_AWS_FILES, *_AWS_TOKENS):
        return {}
    raise _no_credentials(
        "S3",
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile in ~/.aws, or "
        f"{_AWS_MACHINE}=false for the role of this machine, or {_AWS_ANONYMOUS}=YES for a public bucket.",
    )


def _s3_variables_off(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep the client from files and addresses which no variable names."""
    off: dict[str, str] = {}
    if not _first(variables, *_AWS_FILES):
        off |= {"AWS_SHARED_CREDENTIALS_FILE": NOWHERE, "AWS_CONFIG_FILE": NOWHERE}
    if not _asks_the_machine(variables):
        off[_AWS_MACHINE] = "true"  # it would be asked for a region, too
    return off


def _asks_the_machine(variables: Mapping[str, str]) -> bool:
    return variables.get(_AWS_MACHINE, "").strip().lower() == "false"


# ---------------------------------------------------------------- Google Cloud Storage

_GOOGLE_RETRIES = datetime.timedelta(seconds=5)  # some three attempts, as with S3
_GOOGLE_EMULATOR = "STORAGE_EMULATOR_HOST"
_GOOGLE_KEY = "GOOGLE_APPLICATION_CREDENTIALS"
_GOOGLE_MACHINE = ("GCE_METADATA_HOST", "GCE_METADATA_ROOT")
_GOOGLE_ANONYMOUS = "GS_NO_SIGN_REQUEST"


def _google_client(variables: Mapping[str, str]) -> FileSystem:
    from pyarrow.fs import GcsFileSystem

    options: dict[str, Any] = {"retry_time_limit": _GOOGLE_RETRIES}
    emulator = variables.get(_GOOGLE_EMULATOR)
    if emulator:  # it gets nobody's credentials, and has an address with or without its scheme
        address = emulator if "://" in emulator else f"http://{emulator}"
        scheme, server = _server(address, _GOOGLE_EMULATOR)
        return GcsFileSystem(anonymous=True, scheme=scheme, endpoint_override=server, **options)
    if variables.get(_GOOGLE_KEY):
        _check_file(variables, _GOOGLE_KEY)
        return GcsFileSystem(**options)  # the client looks there first, and nowhere else if it is set
    if _is_yes(variables, _GOOGLE_ANONYMOUS):
        return GcsFileSystem(anonymous=True, **options)
    if _first(variables, *_GOOGLE_MACHINE) is None:
        raise _no_credentials(
            "Google Cloud Storage",
            f"Set {_GOOGLE_KEY} to the file of a key, or {_GOOGLE_MACHINE[0]} for the account of this machine, "
            f"or {_GOOGLE_ANONYMOUS}=YES for a public bucket.",
        )
    with _environment_with({"GOOGLE_GCLOUD_ADC_PATH_OVERRIDE": NOWHERE}):  # else a login of gcloud comes first
        return GcsFileSystem(**options)


# ---------------------------------------------------------------- Azure

_AZURE_NAMES = re.compile(r"(?P<container>[^@]+)(?:@(?P<account>[a-z0-9]+)(?:\.dfs\.core\.windows\.net)?)?")
_CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
_AZURE_ANONYMOUS = "AZURE_NO_SIGN_REQUEST"
_APPLICATION = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")
_FEDERATED = ("AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_ID", "AZURE_TENANT_ID")


def _azure_client(authority: str, variables: Mapping[str, str]) -> FileSystem:
    """The account is named by the URL, or by the environment."""
    from pyarrow.fs import AzureFileSystem, FileSystem

    connection = _connection_fields(variables)
    account = _account(authority, variables, connection)
    options = _endpoints(account, connection)
    credentials = _key_or_signature(variables, connection)
    kind = None if credentials else _credential_kind(variables)
    if kind is not None:  # these have no option but that of Arrow's own URLs
        return FileSystem.from_uri(_own_url(account, options, kind))[0]
    if not credentials and variables.get("AZURE_CLIENT_SECRET"):
        _check_together(variables, *_APPLICATION)
    if not credentials and variables.get("AZURE_CLIENT_ID"):
        credentials = {"client_id": variables["AZURE_CLIENT_ID"]}
    if not credentials:
        raise _no_credentials(
            "Azure",
            f"Set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or {_CONNECTION}, or AZURE_TENANT_ID, "
            f"AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or {_AZURE_ANONYMOUS}=YES for a public container.",
        )
    try:
        return AzureFileSystem(account, **options, **credentials)
    except TypeError:  # Arrow before 21 knows keys of accounts only
        raise SourceError(
            "pyarrow must know these credentials of Azure", "an earlier version", "Install pyarrow 21 or newer."
        ) from None


def _connection_fields(variables: Mapping[str, str]) -> dict[str, str]:
    """The fields of a connection string, under their names in small letters."""
    pairs = [pair.partition("=") for pair in variables.get(_CONNECTION, "").split(";") if pair.strip()]
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if fields and not fields.get("accountname"):
        raise SourceError(
            f"{_CONNECTION} must name an account", "no AccountName", "AccountName=...;AccountKey=..."
        )
    return fields


def _account(authority: str, variables: Mapping[str, str], connection: Mapping[str, str]) -> str:
    names = _AZURE_NAMES.fullmatch(authority)
    in_url = names and names["account"]
    account = in_url or connection.get("accountname") or variables.get("AZURE_STORAGE_ACCOUNT")
    if names is None or not account or re.fullmatch("[a-z0-9]+", account) is None:
        raise SourceError(
            "A URL of Azure must name its account",
            "none",
            "Write abfs://container@account.dfs.core.windows.net/path, or set AZURE_STORAGE_ACCOUNT.",
        )
    if connection and account != connection["accountname"]:
        raise SourceError(
            f"A URL of Azure must name the account of {_CONNECTION}",
            f"the account {account}",
            "Unset one of them.",
        )
    return account


def _endpoints(account: str, connection: Mapping[str, str]) -> dict[str, str]:
    """Where a connection string says that the account is: in another cloud, or on a server of one's own."""
    endpoint, suffix = connection.get("blobendpoint"), connection.get("endpointsuffix")
    scheme = connection.get("defaultendpointsprotocol") or "https"
    if endpoint:
        scheme, server = _server(endpoint.rstrip("/").removesuffix(f"/{account}"), _CONNECTION)
        if not server.startswith(f"{account}.blob."):
            return _azure_servers(scheme, server, server)
        suffix = server.removeprefix(f"{account}.blob.")
    return _azure_servers(scheme, f".blob.{suffix}", f".dfs.{suffix}") if suffix else {}


def _azure_servers(scheme: str, blob: str, lake: str) -> dict[str, str]:
    return {
        "blob_storage_scheme": scheme,
        "blob_storage_authority": blob,
        "dfs_storage_scheme": scheme,
        "dfs_storage_authority": lake,
    }


def _own_url(account: str, options: Mapping[str, str], kind: str) -> str:
    server = options.get("blob_storage_authority", ".blob.core.windows.net")
    query = {"credential_kind": kind, "enable_tls": str(options.get("blob_storage_scheme") != "http").lower()}
    if server.startswith("."):
        query |= {"blob_storage_authority": server, "dfs_storage_authority": server.replace(".blob.", ".dfs.", 1)}
        return f"abfs://box@{account}.dfs.core.windows.net/?{urlencode(query)}"
    return f"abfs://{account}@{server}/?{urlencode(query)}"


def _key_or_signature(variables: Mapping[str, str], connection: Mapping[str, str]) -> dict[str, Any]:
    key = connection.get("accountkey") or variables.get("AZURE_STORAGE_KEY")
    token = connection.get("sharedaccesssignature") or variables.get("AZURE_STORAGE_SAS_TOKEN")
    if key:
        _check_base64(key, f"AccountKey of {_CONNECTION}" if connection.get("accountkey") else "AZURE_STORAGE_KEY")
        return {"account_key": key}
    # Arrow puts it after the account's address as it is: without its question mark it would be part of a path
    return {"sas_token": f"?{token.removeprefix('?')}"} if token else {}


def _check_base64(key: str, name: str) -> None:
    """The client would show what it cannot decode; the key itself is never shown."""
    try:
        base64.b64decode(key, validate=True)
    except ValueError:
        raise SourceError(f"{name} must be a key in base64", "other characters", "Copy it once more.") from None


def _credential_kind(variables: Mapping[str, str]) -> str | None:
    """What the client shall ask, and nothing else: left alone, it would also take a login of `az`."""
    if all(variables.get(name) for name in _APPLICATION):
        return "environment"
    if all(variables.get(name) for name in _FEDERATED):
        _check_file(variables, _FEDERATED[0])
        return "workload_identity"
    if not variables.get("AZURE_CLIENT_ID") and _is_yes(variables, _AZURE_ANONYMOUS):
        return "anonymous"
    return None


# ---------------------------------------------------------------- variables of the environment


def _first(variables: Mapping[str, str], *names: str) -> str | None:
    return next((variables[name] for name in names if variables.get(name)), None)


def _is_yes(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "").strip().lower() in ("1", "yes", "true", "on")


def _no_credentials(store: str, hint: str) -> SourceError:
    return SourceError(f"The environment must have credentials for {store}", "none of its variables", hint)


def _check_together(variables: Mapping[str, str], *names: str) -> None:
    """Refuse variables that go together if only some of them are set."""
    missing = [name for name in names if not variables.get(name)]
    if len(missing) not in (0, len(names)):
        must = f"The environment must have {', '.join(names[:-1])} and {names[-1]} together"
        raise SourceError(must, f"no {' and no '.join(missing)}", "Set all of them, or none.")


def _check_file(variables: Mapping[str, str], name: str) -> None:
    """Refuse a variable that names a file which cannot be read; its content is for the client alone."""
    try:
        open_regular(variables[name]).close()
    except (OSError, ValueError) as error:
        got = error.strerror if isinstance(error, OSError) else "a name with a zero byte"
        raise SourceError(f"{name} must be the path of a file that can be read", got) from None


def _server(address: str, variable: str) -> tuple[str, str]:
    """The scheme and the server of an address that a variable gives; it may hold a password, and is not shown."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise SourceError(f"{variable} must be the address of a server", hint="Such as https://host:9000.")
    return match["scheme"], match["server"]


@contextlib.contextmanager
def _environment_with(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables that the libraries of stores read when a client is made, and that have no option."""
    with _one_at_a_time:
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
