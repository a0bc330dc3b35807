"""What the homes on one machine have in common: a key, settled attributes, a commitment that is made once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pramana.randomness import Key, Stream
from pramana.rows.units import Owners
from pramana.schema import Attribute


class KeyedRows(ABC):
    """Rows under a key."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._attributes: tuple[Attribute, ...] = ()
        self._commitments: dict[Key, str] = {}
        self._owners: Owners | None = None

    @property
    def owners(self) -> Owners | None:
        return self._owners

    def _settled(self, attributes: Sequence[Attribute]) -> None:
        """Other columns are published from now on; what was digested of the old ones is forgotten."""
        self._attributes = tuple(attributes)
        self._commitments.clear()

    def commitment(self, key: Key | None = None) -> str:
        under = self._key if key is None else key
        if under not in self._commitments:
            names = [a.name for a in sorted(self._attributes, key=lambda a: a.raw)]
            self._commitments[under] = self._digest_under(under, names)
        return self._commitments[under]

    @abstractmethod
    def _digest_under(self, key: Key, names: Sequence[str]) -> str:
        """The keyed digest of some columns."""

    def stream(self, purpose: str, context: str, column: str, draw: int) -> Stream:
        return self._key.stream(purpose, context, column, draw)
