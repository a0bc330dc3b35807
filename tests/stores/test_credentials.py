"""Credentials come from the environment: what lies elsewhere is not looked for, unless a variable says so."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.object_store import KEY_ID, SECRET, Bucket

import pramana
from pramana.errors import SourceError
from pramana.stores import StorePath
from pramana.stores.clients.s3 import credentials
from pramana.stores.connecting import file_system

S3 = pytest.mark.stores("s3")


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing of who asks."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "GCE_", "AZURE_"))]:
        monkeypatch.delenv(name)
    for name in ("IDENTITY_ENDPOINT", "MSI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
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
    assert "The environment must say who asks S3, got none of its variables" in told
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    assert "must say who asks S3" in refused("inspect", url)  # half of a key is none
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_PROFILE", "statistics")
    assert pramana.inspect(url).records == 2


def test_what_is_passed_to_the_client_and_when_it_looks_for_itself() -> None:
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    passed = {"access_key": "a", "secret_key": "b", "session_token": None}
    assert credentials(keys) == passed
    assert credentials({**keys, "AWS_SESSION_TOKEN": "c", "AWS_PROFILE": "x"}) == {
        **passed,
        "session_token": "c",
    }
    for name in ("AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        assert credentials({name: "x"}) == {}
    assert credentials({"AWS_EC2_METADATA_DISABLED": "false"}) == {}
    half = {"AWS_ACCESS_KEY_ID": "a", "AWS_PROFILE": "x"}  # of a key: another's is not taken in its place
    nobodies: tuple[dict[str, str], ...] = (
        {},
        half,
        {"AWS_PROFILE": ""},
        {"AWS_EC2_METADATA_DISABLED": "true"},
        {"AWS_REGION": "eu-west-1"},
    )
    for stated in nobodies:
        with pytest.raises(SourceError, match="must say who asks S3"):
            credentials(stated)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (StorePath("s3", "bucket", "x.csv"), "who asks S3"),
        (StorePath("gs", "bucket", "x.csv"), "who asks Google Cloud Storage"),
        (StorePath("abfs", "box@account", "x.csv"), "who asks Azure"),
    ],
)
def test_nobody_is_refused_before_anything_is_asked(path: StorePath, told: str, nobody: object) -> None:
    del nobody
    with pytest.raises(SourceError, match=told):
        path.exists()


def test_variables_of_the_other_stores(nobody: pytest.MonkeyPatch) -> None:
    """As far as it shows without a store: the client is made."""
    nobody.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
    assert file_system("gs", "bucket").type_name == "gcs"
    for variables in (
        {"AZURE_STORAGE_KEY": "a2V5"},
        {"AZURE_STORAGE_SAS_TOKEN": "sv=1"},
        {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"},
        {"AZURE_FEDERATED_TOKEN_FILE": "/nowhere"},
    ):
        with nobody.context() as patched:
            for name, value in variables.items():
                patched.setenv(name, value)
            assert file_system("abfs", "box@account").type_name == "abfs"
