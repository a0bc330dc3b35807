"""A server that speaks like S3 and lies: it lists what it is told to list, under any names, also without end."""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_HEAD = '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
_DATE = "<LastModified>2024-01-01T00:00:00.000Z</LastModified>"


class LyingStore(ThreadingHTTPServer):
    """One bucket, `box`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), LyingAnswers)
        self.objects: dict[str, bytes] = {}
        self.elsewhere: list[bytes] = []  # keys that are listed whatever prefix is asked for, as they stand in XML
        self.endless = False
        self.pages = 0

    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server_port}",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_REGION": "us-east-1",
        }

    def page(self, prefix: str) -> bytes:
        self.pages += 1
        keys = [(key.encode(), len(value)) for key, value in self.objects.items() if key.startswith(prefix)]
        keys += [(key, 0) for key in self.elsewhere]
        listed = b"".join(
            b"<Contents><Key>%s</Key>%s<Size>%d</Size></Contents>" % (key, _DATE.encode(), size)
            for key, size in keys
        )
        more = "true" if self.endless else "false"
        end = f"<KeyCount>{len(keys)}</KeyCount><IsTruncated>{more}</IsTruncated>"
        if self.endless:
            end += "<NextContinuationToken>again</NextContinuationToken>"
        return _HEAD.encode() + listed + end.encode() + b"</ListBucketResult>"

    @contextmanager
    def running(self) -> Iterator[LyingStore]:
        thread = threading.Thread(target=self.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.endless = False  # so that who still asks comes to an end
            self.shutdown()
            self.server_close()
            thread.join()


class LyingAnswers(BaseHTTPRequestHandler):
    """What is asked by a client that trusts it."""

    protocol_version = "HTTP/1.1"
    server: LyingStore

    def log_message(self, *arguments: Any) -> None:
        del arguments

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, send: bool) -> None:
        url = urllib.parse.urlsplit(self.path)
        key = urllib.parse.unquote(url.path).removeprefix("/box").lstrip("/")
        code, data = 200, b""
        if key:
            known = self.server.objects.get(key)
            code, data = (404, b"") if known is None else (200, known)
        elif send:
            data = self.server.page(urllib.parse.parse_qs(url.query).get("prefix", [""])[0])
        total = len(data)
        if code == 200 and key and "Range" in self.headers:
            first, last = self.headers["Range"].split("=")[1].split("-")
            code, data = 206, data[int(first) : int(last) + 1]
        self.send_response(code)
        if code == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "binary/octet-stream" if key else "application/xml")
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.end_headers()
        if send:
            self.wfile.write(data)
