"""What a URL may be, and that no secret that someone put into one is ever shown."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pramana import PramanaError, Recipe, release, verify
from pramana.errors import SourceError
from pramana.files.locations import located
from pramana.files.store_path import StorePath, store_error

SECRET = "wJalrXUtnFEMI"
CARRIES = [
    f"s3://AKIA:{SECRET}@bucket/people.csv",
    f"s3://AKIA:{SECRET}/more@bucket/people.csv",  # a secret may hold a slash
    f"s3://{SECRET}@bucket/people.csv",
    f"s3://bucket/people.csv?access_key=AKIA&secret_key={SECRET}",
    f"s3://bucket/people.csv#{SECRET}",
    f"https://bucket.s3.amazonaws.com/people.csv?X-Amz-Signature={SECRET}",
    f"gs://bucket/people.csv?token={SECRET}",
    f"abfs://container:{SECRET}@account.dfs.core.windows.net/people.csv",
    f"abfs://container@account.dfs.core.windows.net/people.csv?sv=1&sig={SECRET}",
    f"hdfs://user:{SECRET}@host:8020/people.csv",
    f"hdfs://{SECRET}@host/people.csv",
]


@pytest.mark.parametrize("url", CARRIES)
def test_credentials_in_a_url_are_refused_and_not_shown(url: str, desk: Path, refused: Callable[..., str]) -> None:
    assert SECRET not in refused("release", "recipe.toml", "--source", url, "--out", "published")
    assert SECRET not in refused("release", "recipe.toml", "--out", url.replace("people.csv", "out"))
    assert SECRET not in refused("verify", url)
    text = (desk / "recipe.toml").read_text().replace("people.csv", url)
    (desk / "recipe.toml").write_text(text)
    assert SECRET not in refused("release", "recipe.toml", "--out", "published")
    assert SECRET not in refused("inspect", url)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("s3://bucket/a/b.csv", StorePath("s3", "bucket", "a/b.csv")),
        ("S3://bucket/a b@c.csv", StorePath("s3", "bucket", "a b@c.csv")),
        ("s3://bucket/folder/", StorePath("s3", "bucket", "folder")),
        ("gs://bucket/x.parquet", StorePath("gs", "bucket", "x.parquet")),
        (
            "abfs://box@account.dfs.core.windows.net/x.csv",
            StorePath("abfs", "box@account.dfs.core.windows.net", "x.csv"),
        ),
        ("abfss://box@account/x.csv", StorePath("abfss", "box@account", "x.csv")),
        ("hdfs://host:8020/x.csv", StorePath("hdfs", "host:8020", "x.csv")),
        ("hdfs:///x.csv", StorePath("hdfs", "", "x.csv")),
        ("file:///data/two%20words.csv", Path("/data/two words.csv")),
        ("file://localhost/data.csv", Path("/data.csv")),
        ("data.csv", Path("data.csv")),
        ("/data.csv", Path("/data.csv")),
    ],
)
def test_a_text_is_the_path_it_names(url: str, path: object) -> None:
    assert located(url) == path
    assert pickle.loads(pickle.dumps(located(url))) == path


@pytest.mark.parametrize(
    "url",
    ["s3://", "s3:///key", "s3://bucket/a//b", "s3://bucket/../b", "s3://bucket/a\nb", "s3a://bucket/x",
     "ftp://host/x", "file://host/x", "file://", "postgresql://host/x", "abfs://box@other.host.net/x"],
)  # fmt: skip
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(SourceError, match=r"The source must (be|have)"):
        located(url)


@pytest.mark.parametrize("name", ["s3:b", "S3:b", "s3:/b/x", "file:tmp", "file:/tmp", "gs:b", "hdfs:/x", "s3a:/b"])
def test_half_a_url_is_no_name_of_a_folder(name: str, desk: Path, refused: Callable[..., str]) -> None:
    assert "a URL with two slashes" in refused("release", "recipe.toml", "--out", name)
    assert "a URL with two slashes" in refused("verify", name)
    assert "a URL with two slashes" in refused("inspect", name)
    assert "a URL with two slashes" in refused("release", "recipe.toml", "--out", "out", "--key", name)
    (desk / "recipe.toml").write_text((desk / "recipe.toml").read_text().replace("people.csv", name))
    assert "a URL with two slashes" in refused("release", "recipe.toml", "--out", "out")
    with pytest.raises(PramanaError, match="two slashes"):
        release("recipe.toml", Path("s3://bucket/x"))


def test_a_name_like_half_a_url_can_be_written_with_a_dot(desk: Path) -> None:
    (desk / "s3:people.csv").write_bytes((desk / "people.csv").read_bytes())
    (desk / "recipe.toml").write_text((desk / "recipe.toml").read_text().replace("people.csv", "./s3:people.csv"))
    assert verify(release("recipe.toml", "./s3:b", seed=1).bundle).valid
    assert verify("./s3:b", source="./s3:people.csv", seed=1).valid
    assert verify(Path("s3:b")).valid
    assert release(Recipe.read("recipe.toml").with_source("./s3:people.csv"), "./gs:b", seed=1).records == 40


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("hdfs://h:abc/x", "a number as its port"),
        ("hdfs://h:99999/x", "a port of at most 65535"),
        ("abfs://", "names a container, got no such name. Such as abfs://container@account.dfs"),
        ("gs://", "Such as gs://bucket/name"),
        ("s3://", "Such as s3://bucket/name"),
        ("hdfs://a b/x", "names a host, got no such name. Such as hdfs://host:8020/name"),
        ("gs://a:b@c/x", "such as GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
def test_a_url_is_told_what_its_own_scheme_wants(url: str, words: str) -> None:
    with pytest.raises(SourceError) as told:
        located(url)
    assert words in str(told.value)


def test_what_a_path_of_a_store_is_made_of() -> None:
    path = StorePath("s3", "bucket", "a/b.csv.gz")
    assert (path.name, path.suffix, path.stem, str(path.parent)) == ("b.csv.gz", ".gz", "b.csv", "s3://bucket/a")
    assert str(path.with_name("c") / "d") == "s3://bucket/a/c/d"
    assert path.relative_to(path.parent).parts == ("b.csv.gz",)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("When listing: AWS Error NO_SUCH_BUCKET during ListObjectsV2", "a bucket that exists"),
        ("AWS Error ACCESS_DENIED during HeadObject operation: No response body.", "the credentials in use"),
        ("AWS Error UNKNOWN (HTTP status 403) during PutObject", "the credentials in use"),
        ("curlCode: 7, Could not connect to server; Details: 10.0.0.7:9000", "a store that answers"),
        ("google::cloud::Status(UNAVAILABLE: Retry policy exhausted)", "a store that answers"),
        ("Unable to load libhdfs: ./libhdfs.so", "a Hadoop file system"),
    ],
)
def test_a_store_s_own_words_become_ours(message: str, words: str) -> None:
    told = store_error("s3://bucket/x", OSError(message))
    assert told is not None and words in str(told)
    assert "10.0.0.7" not in str(told)


def test_damaged_data_is_no_fault_of_the_store() -> None:
    assert store_error("x", OSError("Couldn't deserialize thrift: don't know what 'connection 403' is")) is None


def test_an_endpoint_with_a_password_is_refused_and_not_shown(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://user:{SECRET}@127.0.0.1:9000")
    told = refused("release", "recipe.toml", "--source", "s3://bucket/x.csv", "--out", "published")
    assert "AWS_ENDPOINT_URL must be" in told and SECRET not in told


def test_what_cannot_lie_in_a_store_is_refused_by_name(refused: Callable[..., str]) -> None:
    for ending in ("sav", "dta", "sas7bdat", "xpt", "xlsx"):
        assert "must be csv, parquet or arrow" in refused("inspect", f"s3://bucket/people.{ending}")
    section = {"source": {"url": "s3://bucket/x.csv", "query": "select 1"}}
    with pytest.raises(PramanaError, match=r"source.url must be that of a database.*Write it as path"):
        Recipe.parse({**section, "attributes": {"sex": {"role": "sensitive", "domain": ["F", "M"]}}})


def test_files_by_their_urls_are_files(desk: Path) -> None:
    people, out = (desk / "people.csv").as_uri(), (desk / "published").as_uri()
    done = release(Recipe.read("recipe.toml").with_source(people), out, even_if_useless=True)
    assert done.bundle == desk / "published"
    assert verify(out, source=people, key=desk / "published.key").valid


def test_what_needs_no_store_loads_none() -> None:
    """Neither the command line's help nor the rooms that know URLs wait for Arrow."""
    code = "import sys, pramana.files.locations, pramana.app.main; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
