"""A soft limit on how much one address sends, which keeps no address."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections.abc import Callable

_WINDOW = 60.0
_MOST_KEPT = 100_000


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
        if self._most == 0 or address is None or _is_own(address):
            return True
        if self._now() >= self._end or len(self._counts) >= _MOST_KEPT:
            self._renew()
        name = hashlib.blake2b(_network(address).encode(), key=self._key, digest_size=16).digest()
        if self._counts.get(name, 0) >= self._most:
            return False
        self._counts[name] = self._counts.get(name, 0) + 1
        return True


def _network(address: str) -> str:
    """An address; of version 6 the network that one household has."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return address
    if number.version == 4:
        return str(number)
    return str(ipaddress.ip_network((number, 64), strict=False))


def _is_own(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
