"""What the homes on one machine have in common: a key, settled attributes, a commitment that is made once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from pramana.mechanisms import Mechanism, Product
from pramana.randomness import Codes, Key, Stream
from pramana.rows.local import LocalEngine
from pramana.rows.units import Owners, SharedDraws
from pramana.schema import Attribute, Storey


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

    @abstractmethod
    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        """The codes of some columns, which are given with their numbers of codes."""

    def _shared_draws(
        self, mechanism: Mechanism, context: str, once: Mapping[str, Storey], threads: int
    ) -> SharedDraws:
        """The values that a person or a household has in common, drawn, and the law of all others."""
        return draw_once(mechanism, self._key, context, once, self._owners, self.codes, threads)


def draw_once(
    mechanism: Mechanism,
    key: Key,
    context: str,
    once: Mapping[str, Storey],
    owners: Owners | None,
    codes: Callable[[Mapping[str, int]], Mapping[str, Codes]],
    threads: int,
) -> SharedDraws:
    """The values that a person or a household has in common, drawn, and the law of all others.

    The coin of such a value is that of the unit's number: no column is drawn both ways in one release. `codes` are
    those of all rows, of columns that are given with their numbers of codes.
    """
    if not once:
        return SharedDraws(mechanism)
    assert isinstance(mechanism, Product), "columns are drawn once where each has a coin of its own"
    assert owners is not None, "rows are brought together where columns are drawn once"
    each = Product({name: c for name, c in mechanism.channels.items() if name not in once})
    drawn: dict[str, Codes] = {}
    for name, of in once.items():
        own = Product({name: mechanism.channels[name]})
        common = {name: codes(own.sizes)[name][owners.first_rows(of)]}
        drawn |= LocalEngine(threads).publish(own, key, context, common)
    return SharedDraws(each, drawn, {name: owners.numbers_of(of) for name, of in once.items()})
