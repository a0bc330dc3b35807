"""What stands before every page: who may ask, how much they may send, and what a browser may do with the answer.

A page on one's own machine can be reached by every website that its owner visits. So the name that a browser
asked for must be ours (else another name was made to point here), what changes something must come from our own
pages, and the answer may load nothing but our own files, be framed by nobody, told to nobody and kept by nobody.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_READING = ("GET", "HEAD")
_TOO_LARGE = "What was sent is too large.\n"
MOST_BYTES = 1 << 16  # of a request's body, where a page does not say otherwise


class Guard:
    """Wraps an application. `hosts` are the names, with port, under which it may be asked for."""

    def __init__(
        self, app: ASGIApp, hosts: Collection[str], most_bytes: Callable[[str], int] = lambda _: MOST_BYTES
    ) -> None:
        self._app, self._hosts, self._most_bytes = app, frozenset(h.lower() for h in hosts), most_bytes
        self._origins = frozenset(f"{scheme}://{host}" for scheme in ("http", "https") for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # a page's own policy is stricter: it has no script
                stated = headers.get("content-security-policy", POLICY)
                headers.update({**_HEADERS, "content-security-policy": stated})
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, guarded)
            return
        await self._app(scope, self._bounded(scope, receive), guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("This page is not served under that name.\n", 421)
        if scope["method"] not in _READING and not self._from_own_page(headers):
            return PlainTextResponse("Only this page may send here.\n", 403)
        stated = headers.get("content-length", "0")
        if not (stated.isascii() and stated.isdigit()) or int(stated[:20]) > self._most_bytes(scope["path"]):
            return PlainTextResponse(_TOO_LARGE, 413)
        return None

    def _from_own_page(self, headers: Headers) -> bool:
        """Browsers tell both; forms of a page without referrer have the origin "null". Others tell neither."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if origin == "null":
            return site == "same-origin"
        return site in (None, "same-origin", "none") and (origin is None or origin.lower() in self._origins)

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        left = self._most_bytes(scope["path"])

        async def bounded() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, _TOO_LARGE)
            return message

        return bounded


# The one visitor who may manage: a link that opens once, then a session that no other site can use.


COOKIE = "pramana-session"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass
class Visitor:
    """Holds digests and no secret but the one that forms are marked with. `path`: where the session is sent."""

    path: str = "/"
    _token: bytes | None = field(default=None, repr=False)
    _session: bytes | None = field(default=None, repr=False)
    _forms: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def new_token(self) -> str:
        """A token that opens once; one that was made before no longer does."""
        token = secrets.token_urlsafe(32)
        self._token = _digest(token)
        return token

    def enter(self, token: str) -> str | None:
        """A session for the right token, the first time; it takes the place of the one before."""
        if self._token is None or not hmac.compare_digest(self._token, _digest(token)):
            return None
        self._token = None
        session = secrets.token_urlsafe(32)
        self._session, self._forms = _digest(session), secrets.token_bytes(32)
        return session

    def entrance(self, request: Request, secure: bool) -> Response | None:
        """The way in for whoever comes with the right token: a session, and the page at an address without it."""
        session = self.enter(request.query_params.get("token", ""))
        if session is None:
            return None
        response = RedirectResponse(self.path, 303)
        response.set_cookie(COOKIE, session, path=self.path, httponly=True, samesite="strict", secure=secure)
        return response

    def admits(self, request: Request) -> bool:
        """Whether a request comes with the session."""
        stated = _digest(request.cookies.get(COOKIE, ""))
        return self._session is not None and hmac.compare_digest(self._session, stated)

    def form_token(self, action: str) -> str:
        """What a form of our own pages carries: nobody else can know it."""
        return hmac.digest(self._forms, action.encode(), "sha256").hex()

    def sent(self, request: Request, action: str, form_token: str) -> bool:
        """Whether a form was sent by the visitor, from our page: session, origin and the form's own token."""
        expected = self.form_token(action).encode()
        own = hmac.compare_digest(expected, form_token.encode("utf-8", "surrogatepass"))
        return own and request.headers.get("origin") is not None and self.admits(request)
