"""`pramana studio`: publish, keep account and analyse in a browser, on one's own machine."""

from __future__ import annotations

import click

from pramana.errors import MissingExtraError


@click.command("studio")
@click.option(
    "--data", "folder", default=".", show_default=True, help="The one folder to read from and publish into."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: any that is free.")
@click.option("--no-browser", is_flag=True, help="Do not open it; the link is on standard output.")
def studio_command(folder: str, port: int, no_browser: bool) -> None:
    """Open the studio in the default browser. It listens on this machine alone, and its link opens once."""
    try:
        from pramana.app.studio import Studio
        from pramana.app.studio.work import AllowedFolder
        from pramana.app.web import Listener, serve
    except ModuleNotFoundError as error:
        hint = "pip install 'pramana[studio]'"
        raise MissingExtraError("Pages that are served need starlette and uvicorn", error.name, hint) from None
    allowed = AllowedFolder.of(folder)
    listener = Listener.open("127.0.0.1", port)
    studio = Studio(allowed, listener.hosts)
    try:
        url = f"{listener.base}/?token={studio.visitor.new_token()}"
        serve(studio.application(), listener, {"url": url}, None if no_browser else url)
    finally:
        listener.socket.close()
        studio.close()
