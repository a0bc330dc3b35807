"""`pramana collect` and `pramana studio`: pages that are served on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pramana.app.screen import free_path, missing_server, sign_option
from pramana.errors import RecipeError


@click.command("collect")
@click.argument("recipe", required=False)
@click.option("--demo", is_flag=True, help="A survey to try, instead of RECIPE.")
@click.option("--out", default=None, help="The bundle's folder; before closing, answers are in OUT.collection.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address of this machine to listen on.")
@click.option("--url", default=None, help="What people call it, where a proxy stands before it: https://...")
@click.option("--db", default=None, help="Keep answers in PostgreSQL: a URL, or env:NAME.")
@click.option("--per-address", type=click.IntRange(0), default=120, show_default=True, help="A minute; 0: any.")
@sign_option
@click.option("--no-browser", is_flag=True, help="Do not open the organiser's page.")
@click.option("--close", "closing", is_flag=True, help="Serve nothing: publish what came as the bundle OUT.")
def collect_command(
    recipe: str | None, demo: bool, out: str | None, port: int, host: str, url: str | None, db: str | None,
    per_address: int, sign: str | None, no_browser: bool, closing: bool,
) -> None:  # fmt: skip
    """Ask what nobody may know: serve the survey of RECIPE, whose answers are randomised before they are sent."""
    from pramana.app.collector.closing import CollectionFolder, close_collection, complete_collection
    from pramana.app.collector.submission import AddressLimit
    from pramana.app.collector.survey import DEMONSTRATION, Survey

    if demo == (recipe is not None):
        raise RecipeError("A survey must have a recipe, or be the demonstration", "both" if demo else "neither")
    survey = Survey.read(DEMONSTRATION if recipe is None else recipe)
    if out is None:
        if not demo:
            raise RecipeError("--out must name the folder of the bundle to come", "no --out")
        out = str(free_path(Path("collected"), ".collection"))
    try:
        from pramana.app.collector.application import Collector, SurveyPage
        from pramana.app.web.serving import Listener, serve
    except ModuleNotFoundError as error:
        raise missing_server(error) from None
    page = SurveyPage(survey)
    if closing:
        certificate = complete_collection(survey, page.digest, Path(out))
        if certificate is None:
            folder = CollectionFolder(Path(out))
            store = folder.open(page.digest, len(survey.columns), db)
            certificate = close_collection(survey, store, page.digest, folder.out, sign=sign)
        click.echo(json.dumps({"bundle": out, "records": certificate.records}))
        return
    folder = CollectionFolder(Path(out))
    listener = Listener.open(host, port, url)
    if not (listener.secure or listener.is_local):
        click.echo("Note: without https whoever is on the way can change the page. See --url.", err=True)
    try:
        folder.reserve(survey, page.digest)
        store = folder.open(page.digest, len(survey.columns), db)
        folder.invite(survey, store, lambda token: f"{listener.base}/#{token}")
        collector = Collector(survey, page, store, folder, listener, AddressLimit(per_address), sign)
        organiser = f"{listener.base}/organiser?token={collector.visitor.new_token()}"
        announcement = {"survey": f"{listener.base}/", "organiser": organiser}
        serve(collector.application(), listener, announcement, None if no_browser else organiser)
    finally:
        listener.socket.close()


@click.command("studio")
@click.option(
    "--data", "folder", default=".", show_default=True, help="The one folder to read from and publish into."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: any that is free.")
@click.option("--no-browser", is_flag=True, help="Do not open it; the link is on standard output.")
def studio_command(folder: str, port: int, no_browser: bool) -> None:
    """Open the studio in the default browser. It listens on this machine alone, and its link opens once."""
    try:
        from pramana.app.studio.application import Studio
        from pramana.app.studio.folders import AllowedFolder
        from pramana.app.web.serving import Listener, serve
    except ModuleNotFoundError as error:
        raise missing_server(error) from None
    allowed = AllowedFolder.of(folder)
    listener = Listener.open("127.0.0.1", port)
    studio = Studio(allowed, listener.hosts)
    try:
        url = f"{listener.base}/?token={studio.visitor.new_token()}"
        serve(studio.application(), listener, {"url": url}, None if no_browser else url)
    finally:
        listener.socket.close()
        studio.close()
