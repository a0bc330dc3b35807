"""What the environment tells of a store: who asks, where it is, and where nothing is to be looked for."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping

from pramana.errors import SourceError
from pramana.stores.regular_file import open_regular

NOWHERE = "/dev/null/nowhere"  # a path at which nothing can lie
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?P<server>(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)/?")
_one_at_a_time = threading.Lock()


def first(stated: Mapping[str, str], *names: str) -> str | None:
    return next((stated[name] for name in names if stated.get(name)), None)


def says_yes(stated: Mapping[str, str], name: str) -> bool:
    return stated.get(name, "").strip().lower() in ("1", "yes", "true", "on")


def nobody(store: str, hint: str) -> SourceError:
    return SourceError(f"The environment must say who asks {store}", "none of its variables", hint)


def half(stated: Mapping[str, str], *names: str) -> SourceError | None:
    """For variables that go together, some of which are set; None where all of them are, or none."""
    missing = [name for name in names if not stated.get(name)]
    if len(missing) in (0, len(names)):
        return None
    must = f"The environment must have {', '.join(names[:-1])} and {names[-1]} together"
    return SourceError(must, f"no {' and no '.join(missing)}", "Set all of them, or none.")


def check_file(stated: Mapping[str, str], name: str) -> None:
    """Refuse a variable that names a file which is not there; its content is for the client alone."""
    path = stated.get(name)
    if not path:
        return
    try:
        open_regular(path).close()
    except (OSError, ValueError) as error:
        got = error.strerror if isinstance(error, OSError) else "a name that is none"
        raise SourceError(f"{name} must be the path of a file that can be read", got) from None


def server(stated: Mapping[str, str], *names: str) -> tuple[str, str] | None:
    """The scheme and the address that one of these variables gives; it may hold a password, and is not shown."""
    address = first(stated, *names)
    if address is None:
        return None
    told = _ADDRESS.fullmatch(address)
    if told is None:
        raise SourceError(
            f"{names[-1]} must be the address of a server", "something else", "Such as https://host:9000."
        )
    return told["scheme"], told["server"]


def environment_of(beginnings: tuple[str, ...]) -> dict[str, str]:
    """The variables whose names begin so, as the user set them: never those that another thread's client is made
    with, which may lead where the user did not."""
    with _one_at_a_time:
        return {name: value for name, value in os.environ.items() if name.startswith(beginnings)}


@contextlib.contextmanager
def environment_with(values: Mapping[str, str]) -> Iterator[None]:
    """Variables that the libraries of stores read when a client is made, and that have no option of their own."""
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
