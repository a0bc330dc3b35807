"""What a store says when something fails, in one line of ours.

Its own words name the server's address, requests and keys: only the kind of failure that they stand for is told.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from pramana.errors import InputError, PramanaError, SourceError

_CREDENTIALS = (
    "Credentials come from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "GOOGLE_APPLICATION_CREDENTIALS, or AZURE_STORAGE_KEY and their kin."
)
_ADDRESS = "Is the network up, and is its address right, if a variable such as AWS_ENDPOINT_URL gives one?"
# what a message holds -> what must be, what was got, and a hint
_KINDS: tuple[tuple[str, str, str, str | None], ...] = (
    ("NO_SUCH_BUCKET|bucket does not exist|ContainerNotFound", "lie in a bucket that exists", "none", None),
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
        "none",
        "Its client is Hadoop's own: set HADOOP_HOME, CLASSPATH and JAVA_HOME.",
    ),
    ("OutOfRangeInput|InvalidResourceName", "have a name that its store allows", "another", None),
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
    """Every failure of a store in one line; what is not there stays a FileNotFoundError."""
    try:
        yield
    except (FileNotFoundError, PramanaError):
        raise
    except Exception as error:  # Arrow's own, which is not loaded for this, and those of every store's library
        told = store_error(name, error, kind)
        raise (told or kind(f"{name} must be usable", "an error of its store")) from None
