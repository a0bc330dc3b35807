"""The key of a dataset in a ledger: made once, kept beside the ledger, and removed by no one but its maker."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pramana.errors import KeyFileError, PramanaError, RefusedError
from pramana.ledger import Dataset, Ledger, ReleasedTable
from pramana.randomness import Key, is_own, sweep_unfinished


@dataclass
class KeptKey:
    """A key and the file it is to be in. Of two runs at once only the one that registers it has written it."""

    file: Path
    key: Key
    adopted: bool
    written: bool = False

    @classmethod
    def at(cls, file: Path) -> KeptKey:
        """A new key; or the one in the file, which a run that was killed may have left unregistered."""
        sweep_unfinished(file)
        if not os.path.lexists(file):
            return cls(file, Key.create(), adopted=False)
        if not is_own(file.lstat()):
            raise KeyFileError(
                f"The key file {file} must be a file of your own",
                "a link, or a file of someone else, who then knows the key",
                "Choose another name.",
            )
        return cls(file, Key.read(file), adopted=True)

    def keep(self) -> None:
        """Called within the ledger's transaction, when nothing but the entry is left to write."""
        if not self.adopted:
            self.key.write(self.file)
            self.written = True
        elif Key.read(self.file) != self.key:
            raise RefusedError(f"The key file {self.file} must stay as it was read", "another key")

    def give_up(self, ledger: Ledger) -> None:
        """Remove the file if this run wrote it, it still holds this key, and no dataset is registered under it.

        All of that is looked at while no one else can register anything. Where the ledger cannot be asked the file
        stays, and the same request takes it up again.
        """
        if not self.written:
            return
        with contextlib.suppress(PramanaError, OSError), ledger.exclusive() as state:
            registered = any(d.key == self.key.commitment() for d in state.datasets.values())
            if not registered and Key.read(self.file) == self.key:
                self.file.unlink()


@dataclass
class DigestUnderKeys:
    """The digest of a table under the key of each dataset it is compared with, computed once."""

    digest: Callable[[Key], str]
    known: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, table: Dataset | ReleasedTable) -> str | None:
        """None where the key is not where it was made, or is another."""
        if table.key not in self.known:
            try:
                key = Key.read(table.key_file)
            except KeyFileError:
                key = None
            its_own = key is not None and key.commitment() == table.key
            self.known[table.key] = self.digest(key) if key is not None and its_own else None
        return self.known[table.key]
