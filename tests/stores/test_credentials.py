"""Credentials come from the environment: what lies elsewhere is not looked for, unless a variable says so."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.emulators import ACCOUNT, AzureServer, shared_access
from tests.object_store import KEY_ID, SECRET, VARIABLES, Bucket

import pramana
from pramana.errors import BundleError, SourceError
from pramana.files.locations import located
from pramana.files.store_clients import NOWHERE, file_system, s3_credentials
from pramana.files.store_path import StorePath, put

LOGIN = "GOOGLE_GCLOUD_ADC_PATH_OVERRIDE"
S3 = pytest.mark.stores("s3")


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing of who asks."""
    for name in [name for name in os.environ if name.startswith(VARIABLES)]:
        monkeypatch.delenv(name)
    return monkeypatch


@S3
def test_keys_in_the_home_folder_are_not_taken_unless_a_variable_names_them(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    url = bucket.put("people.csv", b"sex,age\nF,1\nM,2\n")
    (tmp_path / ".aws").mkdir()
    lines = f"aws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n"
    (tmp_path / ".aws" / "credentials").write_text(f"[default]\n{lines}[statistics]\n{lines}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    told = refused("inspect", url)
    assert "The environment must have credentials for S3, got none of its variables" in told
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    assert "got no AWS_SECRET_ACCESS_KEY" in refused("inspect", url)  # half of a key is none
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_PROFILE", "statistics")
    assert pramana.inspect(url).records == 2


def test_what_is_passed_to_the_client_and_when_it_looks_for_itself() -> None:
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    passed = {"access_key": "a", "secret_key": "b", "session_token": None}
    assert s3_credentials(keys) == passed
    assert s3_credentials({**keys, "AWS_SESSION_TOKEN": "c", "AWS_PROFILE": "x"}) == {
        **passed,
        "session_token": "c",
    }
    for name in ("AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        assert s3_credentials({name: "x"}) == {}
    assert s3_credentials({"AWS_EC2_METADATA_DISABLED": "false"}) == {}
    half = {"AWS_ACCESS_KEY_ID": "a", "AWS_PROFILE": "x"}  # of a key: another's is not taken in its place
    with pytest.raises(SourceError, match="got no AWS_SECRET_ACCESS_KEY"):
        s3_credentials(half)
    nobodies: tuple[dict[str, str], ...] = (
        {},
        {"AWS_PROFILE": ""},
        {"AWS_EC2_METADATA_DISABLED": "true"},
        {"AWS_REGION": "eu-west-1"},
    )
    for stated in nobodies:
        with pytest.raises(SourceError, match="must have credentials for S3"):
            s3_credentials(stated)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (StorePath("s3", "bucket", "x.csv"), "credentials for S3"),
        (StorePath("gs", "bucket", "x.csv"), "credentials for Google Cloud Storage"),
        (StorePath("abfs", "box@account", "x.csv"), "credentials for Azure"),
    ],
)
def test_nobody_is_refused_before_anything_is_asked(path: StorePath, told: str, nobody: object) -> None:
    del nobody
    with pytest.raises(SourceError, match=told):
        path.exists()


def test_variables_of_the_other_stores(nobody: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As far as it shows without a store: the client is made."""
    (tmp_path / "told").write_text("{}")
    nobody.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "told"))
    assert file_system("gs", "bucket").type_name == "gcs"
    for variables in (
        {"AZURE_STORAGE_KEY": "a2V5"},
        {"AZURE_STORAGE_SAS_TOKEN": "sv=1"},
        {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"},
        {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": str(tmp_path / "told")},
        {"AZURE_CLIENT_ID": "c"},
        {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=account;AccountKey=a2V5;EndpointSuffix=core.other.cn"},
    ):
        with nobody.context() as patched:
            for name, value in variables.items():
                patched.setenv(name, value)
            assert file_system("abfs", "box@account").type_name == "abfs"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("AZURE_STORAGE_CONNECTION_STRING", f"AccountKey={SECRET}", "must name an account"),
        ("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=other;AccountKey={SECRET}", "must name the account of"),
        (
            "AZURE_STORAGE_CONNECTION_STRING",
            f"AccountName=account;BlobEndpoint=http://u:{SECRET}@h",
            "the address",
        ),
        ("AZURE_FEDERATED_TOKEN_FILE", "/nowhere", "credentials for Azure"),  # whose?
        ("STORAGE_EMULATOR_HOST", f"http://user:{SECRET}@host", "STORAGE_EMULATOR_HOST must be the address"),
    ],
)
def test_variables_that_say_too_little_are_refused_and_not_shown(
    name: str, value: str, told: str, nobody: pytest.MonkeyPatch
) -> None:
    nobody.setenv(name, value)
    with pytest.raises(SourceError, match=told) as refusal:
        StorePath("gs" if name.startswith("STORAGE") else "abfs", "box@account", "x.csv").exists()
    assert SECRET not in str(refusal.value)


class Overheard(ThreadingHTTPServer):
    """A server that plays a store, and a machine that knows its role, and remembers who asked what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        super().__init__(("127.0.0.1", 0), Answering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    server: Overheard

    def answer(self) -> None:
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization", "")))
        known = {"/latest/api/token": "t", f"{ROLES}/our-role": json.dumps(ROLE), ROLES: "our-role"}
        found = known.get(self.path.rstrip("/"))
        content = (found or "").encode()
        self.send_response(403 if found is None else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_HEAD = answer  # noqa: N815

    def log_message(self, *_: object) -> None: ...


ROLES = "/latest/meta-data/iam/security-credentials"
ROLE = {
    "Code": "Success",
    "AccessKeyId": "ROLE",
    "SecretAccessKey": "s",
    "Token": "t",
    "Expiration": "2099-01-01T00:00:00Z",
}


@pytest.fixture
def overheard(nobody: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Overheard]:
    """It is the store and the machine; in the home folder lies a key of which no variable speaks."""
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = HOME\naws_secret_access_key = s\n"
    )
    with Overheard() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        told = {"AWS_ENDPOINT_URL": server.url, "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url}
        for name, value in {**told, "HOME": str(tmp_path)}.items():
            nobody.setenv(name, value)
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("variables", "who"),
    [
        ({"AWS_ACCESS_KEY_ID": "STATED", "AWS_SECRET_ACCESS_KEY": "s"}, "STATED"),
        ({"AWS_NO_SIGN_REQUEST": "YES"}, ""),
        ({"AWS_PROFILE": "not-there"}, ""),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere"}, ""),
        ({"AWS_SHARED_CREDENTIALS_FILE": "{HOME}/.aws/credentials"}, "HOME"),
        ({"AWS_PROFILE": "default"}, "HOME"),
        ({"AWS_EC2_METADATA_DISABLED": "false", "AWS_REGION": "us-east-1"}, "ROLE"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value or "nobody",
)
def test_the_client_looks_nowhere_but_where_a_variable_says(
    variables: dict[str, str], who: str, overheard: Overheard, nobody: pytest.MonkeyPatch
) -> None:
    """Left alone it would take the key in the home folder, and then ask the machine for its role and region."""
    for name, value in variables.items():
        nobody.setenv(name, value.format(HOME=os.environ["HOME"]))
    before = dict(os.environ)
    with pytest.raises(SourceError, match="must be open to the credentials in use"):
        StorePath("s3", "bucket", "x.csv").exists()
    assert dict(os.environ) == before
    of_store = [signed for _, path, signed in overheard.asked if path.startswith("/bucket")]
    assert of_store and all(f"Credential={who}/" in signed if who else not signed for signed in of_store)
    assert (len(of_store) < len(overheard.asked)) == (who == "ROLE")


def test_a_login_of_gcloud_is_not_taken_where_the_machine_is_named(nobody: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    nobody.setattr("pyarrow.fs.GcsFileSystem", lambda **_: seen.append(os.environ.get(LOGIN)))
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GS_NO_SIGN_REQUEST", "GCE_METADATA_HOST"):
        with nobody.context() as patched:
            patched.setenv(name, __file__ if name.startswith("GOOGLE") else "yes")
            file_system("gs", "bucket")
    assert seen == [None, None, NOWHERE] and LOGIN not in os.environ


@pytest.mark.stores("abfs")
def test_a_signature_for_azure_with_and_without_its_question_mark(
    bucket: Bucket, nobody: pytest.MonkeyPatch, desk: Path
) -> None:
    """Without one, as commands of Azure print it, Arrow would make it part of a path."""
    place = f"AccountName={ACCOUNT};BlobEndpoint={bucket.server.endpoint}/{ACCOUNT}"
    url = bucket.put("people.csv", (desk / "people.csv").read_bytes())
    for mark in ("", "?"):
        nobody.setenv("AZURE_STORAGE_CONNECTION_STRING", f"{place};SharedAccessSignature={mark}{shared_access()}")
        assert pramana.inspect(url).records == 40
    path = located(bucket.url("out"))
    assert isinstance(path, StorePath)
    put(path, [b"by a signature"], BundleError)  # the server takes no order for many objects that is signed so
    assert bucket.objects() == ["out", "people.csv"] and bucket.get("out") == b"by a signature"
    nobody.setenv("AZURE_STORAGE_CONNECTION_STRING", place)
    nobody.setenv("AZURE_STORAGE_SAS_TOKEN", shared_access("r"))
    with pytest.raises(BundleError, match="credentials in use"):
        put(path, [b"more"], BundleError)


@pytest.mark.stores("abfs")
def test_a_public_container_of_azure(bucket: Bucket, nobody: pytest.MonkeyPatch) -> None:
    place = f"AccountName={ACCOUNT};BlobEndpoint={bucket.server.endpoint}/{ACCOUNT}"
    url = bucket.put("people.csv", b"sex,age\nF,1\nM,2\n")
    nobody.setenv("AZURE_STORAGE_CONNECTION_STRING", place)
    nobody.setenv("AZURE_NO_SIGN_REQUEST", "YES")
    assert isinstance(bucket.server, AzureServer)
    bucket.server.open_to_all(bucket.name)
    assert pramana.inspect(url).records == 2


@pytest.mark.parametrize(
    ("variables", "url", "words"),
    [
        ({"AWS_ACCESS_KEY_ID": SECRET}, "s3://b/x", "got no AWS_SECRET_ACCESS_KEY"),
        ({"AWS_SECRET_ACCESS_KEY": SECRET}, "s3://b/x", "got no AWS_ACCESS_KEY_ID"),
        ({"GOOGLE_APPLICATION_CREDENTIALS": "nowhere"}, "gs://b/x", "CREDENTIALS must be the path of a file"),
        ({"GOOGLE_APPLICATION_CREDENTIALS": "."}, "gs://b/x", "that can be read, got a folder"),
        ({"AZURE_STORAGE_KEY": f"{SECRET}!"}, "abfs://b@a/x", "AZURE_STORAGE_KEY must be a key in base64"),
        (
            {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=a;AccountKey={SECRET}!"},
            "abfs://b@a/x",
            "AccountKey of AZURE_STORAGE_CONNECTION_STRING must be a key in base64",
        ),
        (
            {"AZURE_CLIENT_SECRET": SECRET, "AZURE_CLIENT_ID": "i"},
            "abfs://b@a/x",
            "AZURE_CLIENT_ID and AZURE_CLIENT_SECRET together, got no AZURE_TENANT_ID",
        ),
        (
            {"AZURE_FEDERATED_TOKEN_FILE": "nowhere", "AZURE_CLIENT_ID": "i", "AZURE_TENANT_ID": "t"},
            "abfs://b@a/x",
            "AZURE_FEDERATED_TOKEN_FILE must be the path of a file",
        ),
    ],
)
def test_what_is_wrong_with_variables_is_said_and_their_content_is_not(
    variables: dict[str, str], url: str, words: str, nobody: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    for name, value in variables.items():
        nobody.setenv(name, value)
    told = refused("verify", url)
    assert words in told and SECRET not in told
