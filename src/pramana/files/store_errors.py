"""What is made of a store's answers: its errors in one line of ours, its listings within bounds.

A store's own words name the server's address, requests and keys: only the kind of failure is shown.

A listing comes in pages, and whether there is another page is the store's word: Arrow asks on until it says no,
and cannot be stopped. So it asks in a thread of its own, for some minutes at most, and while the process has not
grown by more than any honest listing needs. A thread that is given up goes on until the process ends, for a
command at once.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pramana.errors import InputError, PramanaError, SourceError

T = TypeVar("T")
MOST_SECONDS = 300.0  # a million objects take some two minutes
MOST_GROWTH = 2 << 30  # bytes of this process
_LOOK = 0.1  # seconds between looks at how large it is
_STATUS = Path("/proc/self/status")  # where there is none, time alone is bounded
_CREDENTIALS = (
    "Credentials come from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "GOOGLE_APPLICATION_CREDENTIALS, or AZURE_STORAGE_KEY and their kin."
)
_ADDRESS = "Is the network up, and is its address right, if a variable such as AWS_ENDPOINT_URL gives one?"
# what a message holds -> what must be, what was got, and a hint
_KINDS: tuple[tuple[str, str, str, str | None], ...] = (
    (
        "NO_SUCH_BUCKET|bucket does not exist|ContainerNotFound",
        "lie in a bucket that exists",
        "no such bucket",
        None,
    ),
    (
        "ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN|"
        r"EXPIRED_TOKEN|HTTP status 40[13]|PERMISSION_DENIED|UNAUTHENTICATED|AuthenticationFailed|\b40[13]\b|"
        "AuthorizationFailure|[Cc]redential|[Aa]uthentication|access token|Access[A-Z][a-z]+Mismatch",
        "be open to the credentials in use",
        "a refusal of the store",
        _CREDENTIALS,
    ),
    (
        r"NETWORK_CONNECTION|curlCode|REQUEST_TIMEOUT|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|UNAVAILABLE|"
        r"DEADLINE_EXCEEDED|Could not connect|[Cc]onnection|HTTP status 5\d\d|ENDPOINT|resolve host|Retry policy",
        "be in a store that answers",
        "no answer",
        _ADDRESS,
    ),
    (
        "libhdfs|libjvm|HDFS|hdfs",
        "be in a Hadoop file system that answers",
        "no answer",
        "Its client is Hadoop's own: set HADOOP_HOME, CLASSPATH and JAVA_HOME.",
    ),
    ("OutOfRangeInput|InvalidResourceName", "have a name that its store allows", "a name it refuses", None),
    ("NO_SUCH_KEY|NotFound|does not exist|No such (file|dir)", "exist", "no such object", None),
)


def store_error(name: object, error: BaseException, kind: type[InputError] = SourceError) -> InputError | None:
    """The error in our words; None where it is not the store that failed, but what it holds."""
    words = re.sub(r"'[^']*'", "", str(error))  # keys and buckets, which may be called anything
    for pattern, must, got, hint in _KINDS:
        if re.search(pattern, words):
            return kind(f"{name} must {must}", got, hint)
    return None


@contextlib.contextmanager
def store_faults(name: object, kind: type[InputError] = SourceError) -> Iterator[None]:
    """Raise every failure of a store as one line of ours; a missing object stays a FileNotFoundError."""
    try:
        yield
    except (FileNotFoundError, PramanaError):
        raise
    except Exception as error:  # Arrow's own, which is not loaded for this, and those of every store's library
        known = store_error(name, error, kind)
        raise (known or kind(f"{name} must be usable", "an error of its store")) from None


# ---------------------------------------------------------------- listings


def within_bounds(name: object, ask: Callable[[], T]) -> T:
    """What `ask` returns or raises; refused where the store's answer does not end."""
    answers: list[T] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # raised again where it is waited for
            failures.append(error)

    thread = threading.Thread(target=work, name="pramana-listing", daemon=True)
    end, before = time.monotonic() + MOST_SECONDS, _size()
    thread.start()
    while True:
        thread.join(_LOOK)
        if answers:
            return answers[0]
        if failures:
            raise failures[0]
        if time.monotonic() > end or _size() - before > MOST_GROWTH:
            raise SourceError(
                f"The listing of {name} has not ended within {MOST_SECONDS:.0f} seconds and "
                f"{MOST_GROWTH >> 20:,} MB of memory",
                hint="Is the store to be trusted? If so, name a prefix with fewer objects.",
            )


def _size() -> int:
    """Bytes of memory that this process has, or 0 where the system does not say."""
    try:
        size = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmRSS:"))
        return int(size.split()[1]) << 10
    except (OSError, StopIteration, ValueError, IndexError):
        return 0


def name_under(folder: str, path: str) -> str | None:
    """What an object is called within a folder of its store; None where that is no name for a file in a folder.

    Whoever has listed names may make paths of them: none climbs, is absolute, or is another spelling of another.
    """
    start = f"{folder.rstrip('/')}/"
    name = path.removeprefix(start)
    if not path.startswith(start) or "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        return None
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return name
