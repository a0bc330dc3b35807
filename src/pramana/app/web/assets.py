"""Files that pages load: each known by its digest, so that a browser takes no other for it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pramana.pages import style_sheet

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


class Assets(Mapping[str, Asset]):
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
        self._assets = {n: Asset(n, a.content, self._folder + n) for n, a in by_name.items()}

    def __getitem__(self, name: str) -> Asset:
        return self._assets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._assets)

    def __len__(self) -> int:
        return len(self._assets)

    def route(self) -> Route:
        async def asset(request: Request) -> Response:
            known = self._assets.get(request.path_params["name"])
            if known is None:
                return Response("There is no such file.\n", 404, media_type="text/plain")
            return Response(known.content, media_type=known.media_type)

        return Route(self._folder + "{name}", asset)
