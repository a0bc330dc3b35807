"""What stands before every served page: names, origins, sizes, headers, one visitor's session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pramana.app.web.guard import Guard, Visitor
from pramana.app.web.serving import Assets, Listener, Pages
from pramana.errors import RecipeError

HOST = "127.0.0.1:8000"
BASE = f"http://{HOST}"


async def echo(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


def guarded(visitor: Visitor | None = None) -> Guard:
    async def enter(request: Request) -> Response:
        assert visitor is not None
        return visitor.entrance(request, secure=False) or PlainTextResponse("out", 403)

    async def change(request: Request) -> Response:
        assert visitor is not None
        form = (await request.body()).decode()
        return PlainTextResponse("changed", 200 if visitor.sent(request, "change", form) else 403)

    routes = [
        Route("/", echo, methods=["GET", "POST"]),
        Route("/enter", enter),
        Route("/change", change, methods=["POST"]),
        Assets().route(),
    ]
    return Guard(Starlette(routes=routes), [HOST], lambda path: 10 if path == "/" else 1000)


def client(app: Guard) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE)


def run(work: object) -> None:
    import anyio

    anyio.run(work)  # type: ignore[arg-type]


# Written out, so that a policy that becomes weaker is noticed: nothing but our own files, and framed by nobody.
OWN, NOBODY = "'self'", "'none'"
ALLOWED = {
    "default-src": NOBODY, "script-src": OWN, "style-src": OWN, "img-src": OWN, "connect-src": OWN,
    "form-action": OWN, "base-uri": NOBODY, "frame-ancestors": NOBODY,
}  # fmt: skip
HEADERS = {
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/other/web.css", next(iter(Assets().values())).address])
def test_every_answer_has_the_policy(path: str) -> None:
    async def work() -> None:
        async with client(guarded()) as browser:
            for headers in ({}, {"host": "evil.example"}):
                answer = await browser.get(path, headers=headers)
                policy = answer.headers["content-security-policy"].split("; ")
                assert dict(directive.split(" ", 1) for directive in policy) == ALLOWED
                assert {name: answer.headers[name] for name in HEADERS} == HEADERS
                assert "set-cookie" not in answer.headers and "server" not in answer.headers

    run(work)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:8001", "", "127.0.0.1:8000.evil.example"]
)
def test_another_name_is_refused(host: str) -> None:
    async def work() -> None:
        async with client(guarded()) as browser:
            assert (await browser.get("/", headers={"host": host})).status_code == 421

    run(work)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": BASE}, 200),
        ({"origin": BASE, "sec-fetch-site": "same-origin"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, 200),
        ({"origin": "null", "sec-fetch-site": "cross-site"}, 403),
        ({"origin": "http://evil.example", "sec-fetch-site": "same-origin"}, 403),
        ({"origin": f"{BASE}.evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_only_our_own_pages_send(headers: dict[str, str], status: int) -> None:
    async def work() -> None:
        async with client(guarded()) as browser:
            assert (await browser.post("/", headers=headers, content=b"x")).status_code == status

    run(work)


async def drip(pieces: int) -> AsyncIterator[bytes]:
    for _ in range(pieces):
        yield b"xxxx"


def test_bodies_are_bounded_stated_or_not() -> None:
    async def work() -> None:
        async with client(guarded()) as browser:
            assert (await browser.post("/", content=b"x" * 10)).text == "10"
            assert (await browser.post("/", content=b"x" * 11)).status_code == 413
            assert (await browser.post("/", content=drip(2))).text == "8"
            assert (await browser.post("/", content=drip(3))).status_code == 413
            assert (await browser.post("/", headers={"content-length": "9" * 30})).status_code == 413
            assert (await browser.post("/", headers={"content-length": "-1"})).status_code == 413

    run(work)


def test_a_link_opens_once_and_a_form_needs_session_origin_and_token() -> None:
    visitor = Visitor()
    token = visitor.new_token()

    async def work() -> None:
        async with client(guarded(visitor)) as browser:
            assert (await browser.get("/enter?token=guess")).status_code == 403
            answer = await browser.get("/enter", params={"token": token})
            cookie = answer.headers["set-cookie"].lower()
            assert "samesite=strict" in cookie and "httponly" in cookie and "max-age" not in cookie
            form, origin = visitor.form_token("change"), {"origin": BASE}
            assert (await browser.post("/change", content=form, headers=origin)).status_code == 200
            assert (await browser.post("/change", content=form)).status_code == 403
            assert (await browser.post("/change", content="x", headers=origin)).status_code == 403
            other = visitor.form_token("close")
            assert (await browser.post("/change", content=other, headers=origin)).status_code == 403
        async with client(guarded(visitor)) as stranger:
            assert (await stranger.get("/enter", params={"token": token})).status_code == 403
            assert (await stranger.post("/change", content=form, headers=origin)).status_code == 403

    run(work)


def test_pages_escape_what_they_print() -> None:
    page = Pages(Assets()).html("fault.html", title='<script>"', words="</style>")
    assert "<script>" not in page and "</style>" not in page and "&lt;script&gt;" in page


def test_pages_hold_no_inline_script_or_style() -> None:
    page = Pages(Assets()).html("fault.html", title="t", words="w")
    assert "<style" not in page and " style=" not in page and "onclick" not in page
    assert page.count("integrity=") == page.count("stylesheet") == 2


def test_a_listener_answers_to_its_own_names_only() -> None:
    listener = Listener.open(url="https://survey.example.org")
    try:
        port = listener.socket.getsockname()[1]
        assert listener.base == "https://survey.example.org" and listener.secure and listener.is_local
        assert listener.hosts == {
            f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", "survey.example.org"
        }  # fmt: skip
        with pytest.raises(RecipeError, match="must be free"):
            Listener.open(port=port)
    finally:
        listener.socket.close()
    for url in ("ftp://x", "survey.example.org", "https://x/path", "https://"):
        with pytest.raises(RecipeError, match="--url"):
            Listener.open(url=url)


def test_a_listener_on_every_address_is_not_local_and_knows_its_own_names() -> None:
    listener = Listener.open("0.0.0.0")
    try:
        port = listener.socket.getsockname()[1]
        assert not listener.is_local and not listener.secure
        assert {f"127.0.0.1:{port}", f"localhost:{port}"} <= listener.hosts
        assert listener.base == f"http://127.0.0.1:{port}"
    finally:
        listener.socket.close()
