"""What a device sends, checked to the last key; and invitations, of which only digests are kept."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pramana.app.collector.survey import Survey
from pramana.errors import SourceError

_TOKEN = re.compile(r"[0-9a-f]{32}")
_KEYS = {"id", "answers", "invitation"}


@dataclass(frozen=True)
class Submission:
    """A record that was randomised on its device. `identifier` was drawn there, so that two tries are one."""

    identifier: bytes
    codes: tuple[int, ...]  # in the order of the survey's columns
    invitation: str | None = None

    @classmethod
    def read(cls, survey: Survey, body: bytes) -> Submission:
        """What was sent; anything that the page would not send is refused, and nothing of it is quoted."""
        try:
            content = json.loads(body, object_pairs_hook=_without_repetition, parse_constant=_refuse)
        except (ValueError, RecursionError):
            got = f"{len(body):,} bytes that are not"
            raise SourceError("What is sent must be JSON without repeated keys", got) from None
        if not isinstance(content, dict) or not {"id", "answers"} <= set(content) <= _KEYS:
            must = "What is sent must have the keys id and answers, and no other but invitation"
            raise SourceError(must, _kind(content))
        identifier = _token(content, "id")
        if survey.invitations is None and "invitation" in content:
            raise SourceError("A survey that is open to anyone takes no invitation")
        invitation = None if survey.invitations is None else _token(content, "invitation")
        return cls(bytes.fromhex(identifier), _codes(survey, content["answers"]), invitation)


def _token(content: dict[str, Any], key: str) -> str:
    token = content.get(key)
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise SourceError(f"{key} must be 32 hexadecimal digits", _kind(token))
    return token


def _kind(value: Any) -> str:
    """What a value is, without quoting it."""
    units: dict[type, str] = {dict: "keys", list: "values in a list", str: "characters"}
    unit = units.get(type(value))
    return type(value).__name__ if unit is None else f"{len(value)} {unit}"


def _codes(survey: Survey, answers: Any) -> tuple[int, ...]:
    if not isinstance(answers, dict) or set(answers) != set(survey.columns):
        must = f"answers must have a value for each of the {len(survey.columns)} columns, and no other"
        raise SourceError(must, _kind(answers))
    codes = []
    for attribute in survey.plan.attributes:
        value, domain = answers[attribute.name], attribute.coded
        code = domain.missing_code if value is None else None
        if isinstance(value, str):
            code = domain.as_published().code_of(value)
        if code is None:
            raise SourceError(f"The answer to {attribute.name!r} must be one of its values, or null", _kind(value))
        codes.append(code)
    return tuple(codes)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key that occurs twice")
    return content


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is none of JSON's numbers")


def new_invitations(count: int) -> list[str]:
    """Tokens for so many invitations, each good for one answer."""
    return [secrets.token_hex(16) for _ in range(count)]


def invitation_digest(token: str) -> bytes:
    """What is kept of an invitation until it is used: from it nobody gets the token back."""
    return hashlib.sha256(b"pramana invitation " + token.encode()).digest()


# A soft limit on how much one address sends, which keeps no address.


_WINDOW = 60.0
_MOST_ADDRESSES = 100_000


class AddressLimit:
    """At most `most` submissions a minute from one address; 0 is no limit.

    Addresses are counted under a keyed digest whose key is thrown away with the counts every minute, in memory
    alone. This machine's own address is not limited: behind a proxy everyone has it.
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._renew()

    def _renew(self) -> None:
        self._key, self._counts, self._end = secrets.token_bytes(32), dict[bytes, int](), self._now() + _WINDOW

    def allows(self, address: str | None) -> bool:
        """Whether one more may come from there now; it is counted if so."""
        network = None if self._most == 0 or address is None else _network(address)
        if network is None:
            return True
        if self._now() >= self._end or len(self._counts) >= _MOST_ADDRESSES:
            self._renew()
        name = hashlib.blake2b(network.encode(), key=self._key, digest_size=16).digest()
        if self._counts.get(name, 0) >= self._most:
            return False
        self._counts[name] = self._counts.get(name, 0) + 1
        return True


def _network(address: str) -> str | None:
    """An address; of version 6 the network that one household has. None for this machine's own."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return address
    if number.is_loopback:
        return None
    return str(number) if number.version == 4 else str(ipaddress.ip_network((number, 64), strict=False))
