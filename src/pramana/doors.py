"""Doors of rooms: what a room offers loads when it is first asked for: a command loads what it uses."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping


def on_first_use(
    room: str, module_of: Mapping[str, str], modules: Collection[str] = ()
) -> Callable[[str], object]:
    """A room's `__getattr__`: its names by the modules that have them, and `modules` that are offered whole.

    A door hides it from the type checker, which would take any name for one that the room has.
    """

    def found(name: str) -> object:
        if name in modules:
            return importlib.import_module(f"{room}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return vars(importlib.import_module(f"{room}.{module_of[name]}"))[name]

    return found
