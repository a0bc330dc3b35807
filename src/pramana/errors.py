"""The exception tree.

    PramanaError                what the command line catches; every message is one line
    ├── InputError              exit 2: what was given cannot be used
    │   ├── RecipeError             the recipe, or an option that stands for a line of it
    │   ├── SchemaError             roles, domains, hierarchies
    │   ├── SourceError             a table that cannot be read or does not fit its schema
    │   │   └── OutsideDomainError      values that are in none of the places that the recipe has for them
    │   ├── KeyFileError            a key or signing key that cannot be used
    │   ├── MatrixError             a transition matrix that is not one
    │   ├── UnreachableError        a guarantee that no parameter of the method reaches
    │   ├── BundleError             a bundle that cannot be read or must not be overwritten
    │   ├── LedgerError             a ledger that cannot be read or written
    │   ├── CollectionError         a survey's store that cannot be read or written
    │   ├── RefusedError            a release that would break what was promised
    │   ├── UselessError            a release from which nothing could be learned
    │   ├── EngineError             an engine that cannot be started, or work on it that failed
    │   └── MissingExtraError       an optional dependency that is not installed
    └── CheckError              exit 1: everything could be read, and a check said no

A message says what must hold, what was got, then a hint. It never contains a record's values.
"""

from __future__ import annotations

DISTRIBUTION = "pramana-privacy"  # what is installed; on the Python Package Index `pramana` is someone else's
_LONGEST = 300  # what was got may be a whole file's worth of brackets


class PramanaError(Exception):
    """Base of everything Pramana raises on purpose.

    Args:
        what: What must hold, or is wrong.
        got: What was given instead.
        hint: What may help.

    >>> import pramana
    >>> try:
    ...     pramana.Recipe.parse({})
    ... except pramana.PramanaError as error:
    ...     print(error)
    A recipe must describe at least one column, got no [attributes.NAME] section
    """

    exit_code = 2

    def __init__(self, what: str, got: str | None = None, hint: str | None = None) -> None:
        self.what, self.got, self.hint = what, got, hint
        if got is not None and len(got) > _LONGEST:
            got = f"{got[:_LONGEST]}..."
        text = what if got is None else f"{what}, got {got}"
        if hint is not None:
            text = f"{text.rstrip('.')}. {hint}"
        super().__init__(one_line(text))


def one_line(text: str) -> str:
    """Text for a screen: no line breaks, and nothing a terminal would obey."""
    return printable(" ".join(part.strip() for part in text.splitlines()).strip())  # blanks within stay


def printable(text: str) -> str:
    """Text as it may be shown: what a terminal would obey, a line break included, is written out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class InputError(PramanaError):
    """What was given cannot be used."""


class RecipeError(InputError):
    """The recipe, or an option that stands for a line of it, is wrong."""


class SchemaError(InputError):
    """A role, domain or hierarchy is wrong."""


class SourceError(InputError):
    """A table cannot be read, or does not fit its schema."""


class OutsideDomainError(SourceError):
    """Values of a column are outside its domain."""


class KeyFileError(InputError):
    """A key cannot be read, written or used."""


class MatrixError(InputError):
    """A transition matrix is not one."""


class UnreachableError(InputError):
    """No parameter of the method reaches the wanted guarantee."""


class BundleError(InputError):
    """A bundle cannot be read, or would overwrite something."""


class LedgerError(InputError):
    """A ledger cannot be opened, read or written."""


class CollectionError(InputError):
    """The store of a survey cannot be opened, read or written."""


class RefusedError(InputError):
    """A release would break what was promised, and the ledger refuses it."""


class UselessError(InputError):
    """Nothing could be learned from a release."""


class EngineError(InputError):
    """An engine cannot be started, or what it was given to do failed."""


class MissingExtraError(InputError):
    """An optional dependency is not installed."""


def install_command(extra: str) -> str:
    """The command that installs an extra of this package, as messages print it."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class CheckError(PramanaError):
    """Everything could be read, and a check said no."""

    exit_code = 1
