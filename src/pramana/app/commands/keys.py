"""`pramana key`: keys for releases, and key pairs for signing certificates."""

from __future__ import annotations

import click

from pramana.app.screen import json_option, show


@click.group("key")
def key_command() -> None:
    """Make keys: for releases, and for signing certificates."""


@key_command.command("new")
@click.argument("path")
@json_option
def new(path: str, as_json: bool) -> None:
    """Write a fresh release key to PATH, readable by its owner alone."""
    from pramana import Key

    Key.create().write(path)
    show(as_json, {"path": path}, [f"A new key is in {path}. Keep it secret; use it for one table only."])


@key_command.command("sign")
@click.argument("path")
@json_option
def sign(path: str, as_json: bool) -> None:
    """Write an Ed25519 signing key to PATH and its public half to PATH.pub."""
    from pramana import make_signing_key

    public = make_signing_key(path)
    show(
        as_json,
        {"path": path, "public_key": public},
        [f"Signing key in {path}; give {path}.pub to your recipients."],
    )
