"""Servers like Azure's and Google's that tests start: Azurite (npm) and gcp-storage-emulator (PyPI)."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, urlencode

import pytest
from pyarrow.fs import AzureFileSystem, FileSystem, GcsFileSystem
from tests.needs import NODE_MODULES, why_missing
from tests.object_store import StoreServer

ACCOUNT = "statistics"
_AZURITE = NODE_MODULES / "azurite" / "dist" / "src" / "blob" / "main.js"
_BEFORE = Path(__file__).with_name("azurite.js")
_VERSION = "2021-12-02"
_NAME = re.compile(r"<Blob><Name>(.*?)</Name>")
AZURE_KEY = base64.b64encode(b"a key of Azure's that nothing shows").decode()


def signature(text: str) -> str:
    return base64.b64encode(hmac.digest(base64.b64decode(AZURE_KEY), text.encode(), hashlib.sha256)).decode()


@dataclass
class AzureServer(StoreServer):
    """Azurite, which keeps all in memory; its account has a flat namespace."""

    scheme: ClassVar[str] = "abfs"

    @classmethod
    def missing(cls) -> str | None:
        return why_missing("azurite")

    @staticmethod
    def command(host: str, port: int) -> list[str]:
        # Arrow's client may be newer than what the server knows the name of: it does not look
        options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
        return [
            "node",
            "--require",
            str(_BEFORE),
            str(_AZURITE),
            "--blobHost",
            host,
            "--blobPort",
            str(port),
            *options,
        ]

    @staticmethod
    def own_environment() -> dict[str, str]:
        return {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{AZURE_KEY}"}

    def connection(self, key: str = AZURE_KEY, endpoint: str | None = None) -> str:
        blobs = endpoint or self.endpoint
        return f"AccountName={ACCOUNT};AccountKey={key};BlobEndpoint={blobs}/{ACCOUNT};"

    def environment(self) -> dict[str, str]:
        return {"AZURE_STORAGE_CONNECTION_STRING": self.connection()}

    def silent(self) -> dict[str, str]:
        return {"AZURE_STORAGE_CONNECTION_STRING": self.connection(endpoint="http://127.0.0.1:9")}

    def secrets(self) -> list[str]:
        return [AZURE_KEY]

    def url(self, bucket: str, key: str) -> str:
        return f"abfs://{bucket}@{ACCOUNT}.dfs.core.windows.net/{key}"

    def system(self) -> FileSystem:
        return AzureFileSystem(
            ACCOUNT,
            account_key=AZURE_KEY,
            blob_storage_authority=self.address,
            dfs_storage_authority=self.address,
            blob_storage_scheme="http",
            dfs_storage_scheme="http",
        )

    def create(self, bucket: str) -> None:
        self._asked("PUT", bucket, restype="container")

    def open_to_all(self, bucket: str) -> None:
        """Who asks without a name may read and list it."""
        self._asked("PUT", bucket, public=True, restype="container", comp="acl")

    def keys(self, bucket: str, under: str) -> list[str]:
        told = self._asked(
            "GET", bucket, restype="container", comp="list", prefix=under, include="metadata"
        ).decode()
        return [name for name in _NAME.findall(told) if not name.endswith("/")]

    def unfinished(self, bucket: str) -> list[str]:
        told = self._asked("GET", bucket, restype="container", comp="list", include="uncommittedblobs").decode()
        return sorted({name for name in _NAME.findall(told) if not name.endswith("/")} - {*self.keys(bucket, "")})

    @contextlib.contextmanager
    def locked(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        other = base64.b64encode(b"another key").decode()
        with monkeypatch.context() as patched:
            patched.setenv("AZURE_STORAGE_CONNECTION_STRING", self.connection(other))
            yield

    def _asked(self, method: str, bucket: str, *, public: bool = False, **query: str) -> bytes:
        """A request that is signed, as every one must be."""
        now = format_datetime(datetime.now(UTC), usegmt=True)
        headers = {"x-ms-date": now, "x-ms-version": _VERSION}
        if public:
            headers["x-ms-blob-public-access"] = "container"
        named = "\n".join(f"{name}:{headers[name]}" for name in sorted(headers))
        # the account stands twice: in the name of the resource, and in the path of an emulator
        resource = f"/{ACCOUNT}/{ACCOUNT}/{bucket}" + "".join(f"\n{name}:{query[name]}" for name in sorted(query))
        signed = signature("\n".join([method, *[""] * 11, named, resource]))
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{signed}"
        url = f"{self.endpoint}/{ACCOUNT}/{bucket}?{urlencode(query)}"
        request = urllib.request.Request(url, method=method, headers=headers)
        request.add_unredirected_header("Content-Type", "")
        with urllib.request.urlopen(request, timeout=30) as answer:
            content: bytes = answer.read()
        return content


def shared_access(permissions: str = "rwdlac") -> str:
    """A token for whoever holds it, for an hour, without the question mark that it has in a URL."""
    end = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = [ACCOUNT, permissions, "b", "sco", "", end, "", "http,https", _VERSION, "", ""]
    token = {"sv": _VERSION, "ss": "b", "srt": "sco", "sp": permissions, "se": end, "spr": "http,https"}
    return urlencode({**token, "sig": signature("\n".join(fields))})


@dataclass
class GoogleServer(StoreServer):
    """gcp-storage-emulator, which asks nobody for credentials."""

    scheme: ClassVar[str] = "gs"

    @classmethod
    def missing(cls) -> str | None:
        if find_spec("gcp_storage_emulator") is None:
            return "gcp-storage-emulator is not installed (pip install gcp-storage-emulator): no Google to try"
        return None

    @staticmethod
    def command(host: str, port: int) -> list[str]:
        options = ["start", "--host", host, "--port", str(port), "--in-memory", "--quiet"]
        return [sys.executable, "-m", "gcp_storage_emulator", *options]

    def environment(self) -> dict[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.endpoint}

    def silent(self) -> dict[str, str]:
        return {"STORAGE_EMULATOR_HOST": "http://127.0.0.1:9"}

    def secrets(self) -> list[str]:
        return []

    def url(self, bucket: str, key: str) -> str:
        return f"gs://{bucket}/{key}"

    def system(self) -> FileSystem:
        return GcsFileSystem(
            anonymous=True, scheme="http", endpoint_override=self.address, retry_time_limit=timedelta(seconds=10)
        )

    def create(self, bucket: str) -> None:
        self.ask("POST", "storage/v1/b?project=tests", json.dumps({"name": bucket}).encode(), "application/json")

    def keys(self, bucket: str, under: str) -> list[str]:
        told = json.loads(self.ask("GET", f"storage/v1/b/{bucket}/o?prefix={quote(under)}"))
        return sorted(item["name"] for item in told.get("items", []) if not item["name"].endswith("/"))

    def unfinished(self, bucket: str) -> list[str]:
        del bucket
        return []  # the emulator does not tell

    @contextlib.contextmanager
    def locked(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        del monkeypatch
        raise AssertionError("it asks nobody for credentials")
        yield


SERVERS: dict[str, type[StoreServer]] = {kind.scheme: kind for kind in (StoreServer, AzureServer, GoogleServer)}
