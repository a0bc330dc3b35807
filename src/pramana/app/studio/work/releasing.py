"""A release under way: it tells how far it is, can be stopped, and leaves a whole bundle or nothing."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from pramana import Key, release
from pramana.app.studio.work.private import PrivateFolder
from pramana.errors import PramanaError
from pramana.methods import AnyRecipe
from pramana.pipeline import Released


class StoppedReleaseError(Exception):
    """Raised inside the work, where it next says how far it is."""


class ReleaseJob:
    """One release in a thread of its own. Its key is kept here until it is taken, once.

    With a ledger it is kept beside the bundle instead, as on the command line: a ledger recognises a table
    that was released before by the key of that release.
    """

    def __init__(
        self, recipe: AnyRecipe, out: Path, private: PrivateFolder, even_if_useless: bool = False
    ) -> None:
        self.out, self._private = out, private
        self.released: Released | None = None
        self.problem = ""
        self.stage, self.share = "starting", 0.0
        self._key: Key | None = Key.create() if recipe.ledger is None else None
        self._recipe, self._even_if_useless = recipe, even_if_useless
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set() and self.released is None and not self.running

    @property
    def has_key(self) -> bool:
        return self.released is not None and self._key is not None

    def take_key(self) -> Key | None:
        """The key, the first time it is asked for."""
        key, self._key = (self._key, None) if self.released is not None else (None, self._key)
        return key

    def stop(self) -> None:
        self._stop.set()

    def join(self, seconds: float) -> None:
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _told(self, stage: str, done: int, of: int) -> None:
        if self._stop.is_set():
            raise StoppedReleaseError
        self.stage, self.share = stage, min(1.0, done / of) if of else 0.0

    def _run(self) -> None:
        try:
            with self._private.reading():
                released = release(
                    self._recipe,
                    self.out,
                    key=self._key,
                    progress=self._told,
                    even_if_useless=self._even_if_useless,
                )
            self._settle(released)
        except StoppedReleaseError:
            self._key = None
        except PramanaError as error:
            self.problem, self._key = str(error), None
        except Exception as error:
            # the words of an unforeseen error may quote the data
            self.problem, self._key = f"internal error ({type(error).__name__})", None

    def _settle(self, released: Released) -> None:
        """Done; where a stop came too late for the work, what it wrote goes, unless a ledger has it."""
        if self._stop.is_set() and not released.ledger:
            shutil.rmtree(self.out, ignore_errors=True)
            self._key = None
            return
        self.released = released
