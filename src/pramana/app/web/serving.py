"""A server on one's own machine: it listens, says where on standard output, and keeps no log of who asked."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import socket
import webbrowser
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from urllib.parse import SplitResult, urlsplit

import click
import uvicorn
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from pramana.errors import RecipeError
from pramana.pages.rendering import page_environment, style_sheet

_BACKLOG = 2048
_WAITING = 5  # seconds that requests under way are given at the end


@dataclass(frozen=True)
class Listener:
    """A socket that listens. `base` is the address that people are given, `hosts` the names it may be asked by."""

    socket: socket.socket
    base: str
    hosts: frozenset[str]

    @classmethod
    def open(cls, host: str = "127.0.0.1", port: int = 0, url: str | None = None) -> Listener:
        """Listen on an address of this machine; `url` is what people call it where a proxy stands before it."""
        called = None if url is None else _checked(url)
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
            # connections inherit it; else an answer in two parts waits 40 ms for a receipt of the first
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, OverflowError) as error:
            got = error.strerror if isinstance(error, OSError) else None
            raise RecipeError(f"{host}, port {port}, must be free to listen on", got or "no such place") from None
        taken = listening.getsockname()[1]
        names = {f"{name}:{taken}" for name in _names_of(host)}
        base = f"http://{_bracketed('127.0.0.1' if _is_wildcard(host) else host)}:{taken}"
        if called is not None:
            base = f"{called.scheme}://{called.netloc}"
            names.add(called.netloc)
        return cls(listening, base, frozenset(names))

    @property
    def secure(self) -> bool:
        return self.base.startswith("https:")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return _is_loopback(str(self.socket.getsockname()[0]))


def _checked(url: str) -> SplitResult:
    """A scheme and a server, and nothing else."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise RecipeError("--url must be an address such as https://survey.example.org", repr(url[:100]))
    return parts


def _is_wildcard(host: str) -> bool:
    return host in ("0.0.0.0", "::", "")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _names_of(host: str) -> set[str]:
    """Under which names a browser may ask: this machine's own, where it listens on all of its addresses."""
    own = {"127.0.0.1", "localhost", "[::1]"}
    if not _is_wildcard(host):
        return own | {_bracketed(host)} if _is_loopback(host) else {_bracketed(host)}
    name = socket.gethostname()
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    except OSError:
        addresses = set()
    return own | {name} | {_bracketed(address) for address in addresses}


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Announced(uvicorn.Server):
    """Says where it is once it answers."""

    announcement: Mapping[str, str] = {}
    opened: str | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            click.echo(json.dumps(dict(self.announcement)))
            if self.opened is not None:
                webbrowser.open(self.opened)


def serve(app: ASGIApp, listener: Listener, announcement: Mapping[str, str], opened: str | None = None) -> None:
    """Serve until interrupted. `announcement` is the first line of standard output; `opened` a page to open."""
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="critical",  # an error's words may quote what was asked for
        server_header=False,
        date_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_graceful_shutdown=_WAITING,
    )
    server = _Announced(config)
    server.announcement, server.opened = announcement, opened
    try:
        server.run(sockets=[listener.socket])
    except KeyboardInterrupt:
        return


# Files that pages load: each known by its digest, so that a browser takes no other for it.


_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Asset:
    """A file, where it is served, and the digest that a page states of it."""

    name: str
    content: bytes
    address: str = ""

    @classmethod
    def of_package(cls, package: str, path: str) -> Asset:
        """A file that ships with a package."""
        return cls(path.rpartition("/")[2], files(package).joinpath(path).read_bytes())

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def integrity(self) -> str:
        """As an HTML attribute has it."""
        return "sha256-" + base64.b64encode(bytes.fromhex(self.sha256)).decode()

    @property
    def media_type(self) -> str:
        return _TYPES["." + self.name.rpartition(".")[2]]


class Assets(dict[str, Asset]):
    """All files of an application, under one address that changes when any of them does."""

    def __init__(self, *assets: Asset) -> None:
        own = (
            Asset("report.css", style_sheet().encode()),
            *(Asset.of_package("pramana.app.web", f"static/{name}") for name in ("web.css", "icon.svg")),
        )
        by_name = {asset.name: asset for asset in (*own, *assets)}
        together = "".join(f"{name} {asset.sha256}\n" for name, asset in sorted(by_name.items()))
        self.digest = hashlib.sha256(together.encode()).hexdigest()
        self._folder = f"/static/{self.digest[:16]}/"
        super().__init__({n: Asset(n, a.content, self._folder + n) for n, a in by_name.items()})

    def route(self) -> Route:
        async def asset(request: Request) -> Response:
            known = self.get(request.path_params["name"])
            if known is None:
                return Response("There is no such file.\n", 404, media_type="text/plain")
            return Response(known.content, media_type=known.media_type)

        return Route(self._folder + "{name}", asset)


# Templates as answers: the report's look, everything escaped, and the addresses of the files they load.


class Pages:
    """The templates of some packages, those of this one, and the report's own."""

    def __init__(self, assets: Assets, *packages: str) -> None:
        self._assets = assets
        self._environment = page_environment(*packages, "pramana.app.web")

    def html(self, template: str, **context: object) -> str:
        return self._environment.get_template(template).render(
            {"assets": self._assets, "language": "en", **context}
        )

    def answer(self, template: str, status: int = 200, **context: object) -> HTMLResponse:
        return HTMLResponse(self.html(template, **context), status)

    def fault(self, status: int, title: str, words: str) -> HTMLResponse:
        """A page that says what went wrong, and nothing else."""
        return self.answer("fault.html", status, title=title, words=words)

    def handler(self, status: int, title: str, words: str) -> Callable[[Request, Exception], Awaitable[Response]]:
        """The same page as the answer to every error of a kind."""

        async def handle(_: Request, __: Exception) -> Response:
            return self.fault(status, title, words)

        return handle
