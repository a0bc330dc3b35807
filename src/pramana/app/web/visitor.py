"""The one visitor who may manage: a link that opens once, then a session that no other site can use."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

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

    def give(self, response: Response, session: str, secure: bool) -> None:
        response.set_cookie(COOKIE, session, path=self.path, httponly=True, samesite="strict", secure=secure)

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
