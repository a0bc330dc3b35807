"""The client for S3 and what speaks like it. It looks for credentials nowhere but where a variable says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pramana.stores.clients.told import (
    NOWHERE,
    environment_with,
    first,
    half,
    nobody,
    says_yes,
    server,
)

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_CONNECT_SECONDS = 5
_SILENT_SECONDS = 10  # without a byte
_ATTEMPTS = 3
_FILES = ("AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE")
_WEB_IDENTITY = ("AWS_WEB_IDENTITY_TOKEN_FILE",)
_CONTAINER = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
_MACHINE = "AWS_EC2_METADATA_DISABLED"  # "false": the role of the machine may be asked for
_ANONYMOUS = "AWS_NO_SIGN_REQUEST"


def s3_client(bucket: str, stated: Mapping[str, str]) -> FileSystem:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    options: dict[str, Any] = {"region": first(stated, "AWS_REGION", "AWS_DEFAULT_REGION")}
    address = server(stated, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    if address is not None:
        options |= {"scheme": address[0], "endpoint_override": address[1]}
    options |= credentials(stated)
    with environment_with(not_looked_at(stated)):
        if address is None and options["region"] is None:
            options["region"] = resolve_s3_region(bucket)
        return S3FileSystem(
            connect_timeout=_CONNECT_SECONDS,
            request_timeout=_SILENT_SECONDS,
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
            allow_delayed_open=True,  # a small object is one request, and never an upload in parts
            **options,
        )


def credentials(stated: Mapping[str, str]) -> dict[str, Any]:
    """The key, passed on; nothing where the client shall look for one, because a variable says where."""
    key, secret = (stated.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    if key and secret:
        return {"access_key": key, "secret_key": secret, "session_token": stated.get("AWS_SESSION_TOKEN") or None}
    if (incomplete := half(stated, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")) is not None:
        raise incomplete
    if says_yes(stated, _ANONYMOUS):
        return {"anonymous": True}
    if _asks_the_machine(stated) or first(stated, *_FILES, *_WEB_IDENTITY, *_CONTAINER):
        return {}
    raise nobody(
        "S3",
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile in ~/.aws, or "
        f"{_MACHINE}=false for the role of this machine, or {_ANONYMOUS}=YES for a public bucket.",
    )


def not_looked_at(stated: Mapping[str, str]) -> dict[str, str]:
    """What keeps the client from places that no variable names: its own order knows them all."""
    hidden: dict[str, str] = {}
    if not first(stated, *_FILES):
        hidden |= {"AWS_SHARED_CREDENTIALS_FILE": NOWHERE, "AWS_CONFIG_FILE": NOWHERE}
    if not _asks_the_machine(stated):
        hidden[_MACHINE] = "true"  # it would be asked for a region, too
    return hidden


def _asks_the_machine(stated: Mapping[str, str]) -> bool:
    return stated.get(_MACHINE, "").strip().lower() == "false"
