"""The client for Azure. Its account is named by the URL, or by the environment."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pramana.errors import SourceError
from pramana.stores.clients.told import check_file, half, nobody, says_yes, server

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_NAMES = re.compile(r"(?P<container>[^@]+)(?:@(?P<account>[a-z0-9]+)(?:\.dfs\.core\.windows\.net)?)?")
_CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
_ANONYMOUS = "AZURE_NO_SIGN_REQUEST"
_APPLICATION = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")
_FEDERATED = ("AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_ID", "AZURE_TENANT_ID")


def azure_client(authority: str, stated: Mapping[str, str]) -> FileSystem:
    from pyarrow.fs import AzureFileSystem, FileSystem

    connection = _connection(stated)
    account = _account(authority, stated, connection)
    options = _place(account, connection)
    given = _given(stated, connection)
    kind = None if given else _kind(stated)
    if kind is not None:  # these have no option but that of Arrow's own URLs
        return FileSystem.from_uri(_own_url(account, options, kind))[0]
    secret = not given and stated.get("AZURE_CLIENT_SECRET")
    if secret and (incomplete := half(stated, *_APPLICATION)) is not None:
        raise incomplete
    if not given and stated.get("AZURE_CLIENT_ID"):
        given = {"client_id": stated["AZURE_CLIENT_ID"]}
    if not given:
        raise nobody(
            "Azure",
            f"Set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or {_CONNECTION}, or AZURE_TENANT_ID, "
            f"AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or {_ANONYMOUS}=YES for a public container.",
        )
    try:
        return AzureFileSystem(account, **options, **given)
    except TypeError:  # those of Arrow before 21 know keys of accounts only
        raise SourceError(
            "pyarrow must know these credentials of Azure", "an earlier version", "Install pyarrow 21 or newer."
        ) from None


def _connection(stated: Mapping[str, str]) -> dict[str, str]:
    """The fields of a connection string, under their names in small letters."""
    pairs = [pair.partition("=") for pair in stated.get(_CONNECTION, "").split(";") if pair.strip()]
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if fields and not fields.get("accountname"):
        raise SourceError(
            f"{_CONNECTION} must name an account", "something else", "AccountName=...;AccountKey=..."
        )
    return fields


def _account(authority: str, stated: Mapping[str, str], connection: Mapping[str, str]) -> str:
    told = _NAMES.fullmatch(authority)
    named = told and told["account"]
    account = named or connection.get("accountname") or stated.get("AZURE_STORAGE_ACCOUNT")
    if told is None or not account or re.fullmatch("[a-z0-9]+", account) is None:
        raise SourceError(
            "A URL of Azure must name its account",
            "none",
            "Write abfs://container@account.dfs.core.windows.net/path, or set AZURE_STORAGE_ACCOUNT.",
        )
    if connection and account != connection["accountname"]:
        raise SourceError(
            f"A URL of Azure must name the account of {_CONNECTION}", "another", "Unset one of them."
        )
    return account


def _place(account: str, connection: Mapping[str, str]) -> dict[str, str]:
    """Where a connection string says that the account is: in another cloud, or on a server of one's own."""
    endpoint, suffix = connection.get("blobendpoint"), connection.get("endpointsuffix")
    scheme = connection.get("defaultendpointsprotocol") or "https"
    if endpoint:
        found = server({_CONNECTION: endpoint.rstrip("/").removesuffix(f"/{account}")}, _CONNECTION)
        assert found is not None, "it is not empty"
        if found[1].startswith(f"{account}.blob."):
            scheme, suffix = found[0], found[1].removeprefix(f"{account}.blob.")
        else:
            return _both(*found, *found)
    return _both(scheme, f".blob.{suffix}", scheme, f".dfs.{suffix}") if suffix else {}


def _own_url(account: str, options: Mapping[str, str], kind: str) -> str:
    place = options.get("blob_storage_authority", ".blob.core.windows.net")
    query = {"credential_kind": kind, "enable_tls": str(options.get("blob_storage_scheme") != "http").lower()}
    if place.startswith("."):
        query |= {"blob_storage_authority": place, "dfs_storage_authority": place.replace(".blob.", ".dfs.", 1)}
        return f"abfs://box@{account}.dfs.core.windows.net/?{urlencode(query)}"
    return f"abfs://{account}@{place}/?{urlencode(query)}"


def _both(blob_scheme: str, blob: str, lake_scheme: str, lake: str) -> dict[str, str]:
    return {
        "blob_storage_scheme": blob_scheme,
        "blob_storage_authority": blob,
        "dfs_storage_scheme": lake_scheme,
        "dfs_storage_authority": lake,
    }


def _given(stated: Mapping[str, str], connection: Mapping[str, str]) -> dict[str, Any]:
    """A key, or a signature: what holds credentials itself."""
    key = connection.get("accountkey") or stated.get("AZURE_STORAGE_KEY")
    token = connection.get("sharedaccesssignature") or stated.get("AZURE_STORAGE_SAS_TOKEN")
    if key:
        _check_base64(key, f"AccountKey of {_CONNECTION}" if connection.get("accountkey") else "AZURE_STORAGE_KEY")
        return {"account_key": key}
    # Arrow puts it after the account's address as it is: without its question mark it would be part of a path
    return {"sas_token": f"?{token.removeprefix('?')}"} if token else {}


def _check_base64(key: str, name: str) -> None:
    """The client would say of its own that it cannot decode it; the key itself is never shown."""
    try:
        base64.b64decode(key, validate=True)
    except ValueError:
        raise SourceError(f"{name} must be a key in base64", "something else", "Copy it once more.") from None


def _kind(stated: Mapping[str, str]) -> str | None:
    """What the client shall ask, and nothing else: left alone, it would also take a login of `az`."""
    if all(stated.get(name) for name in _APPLICATION):
        return "environment"
    if all(stated.get(name) for name in _FEDERATED):
        check_file(stated, _FEDERATED[0])
        return "workload_identity"
    if not stated.get("AZURE_CLIENT_ID") and says_yes(stated, _ANONYMOUS):
        return "anonymous"
    return None
