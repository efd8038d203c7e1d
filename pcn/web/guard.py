"""Who may read the live page: requests to this address, with the token, from no other site.

The token is the first part of every path, so pages, scripts and events carry it by relative links,
no cookie is needed, and no other page of the browser can send it. A Host header of another name is
a rebound DNS name, and refused."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
        "'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_TOKEN_BYTES = 32


def new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


class Guard:
    """Passes on what it admits, without the token in the path, and adds HEADERS to each
    response."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # no WebSocket, no life cycle
            return
        why = self._refusal(scope)
        if why:
            await _answer(send, 403, f"{why}\n".encode())
            return
        path = "/" + scope["path"].partition("/")[2].partition("/")[2]

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                security_headers = [
                    (name.encode(), value.encode()) for name, value in HEADERS.items()
                ]
                message = {**message, "headers": [*message.get("headers", ()), *security_headers]}
            await send(message)

        await self._app(
            {**scope, "path": path, "raw_path": path.encode(), "root_path": ""},
            receive,
            with_headers,
        )

    def _refusal(self, scope: Scope) -> str:
        """Returns why a request is refused; empty for one that isn't."""
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return "this page has another address"
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return "this page answers no other site"
        if any(site not in ("same-origin", "none") for site in headers.get(b"sec-fetch-site", [])):
            return "this page answers no other site"
        if scope["method"] not in ("GET", "HEAD") and not origins:
            return "this page takes commands from itself alone"
        token = (
            scope["path"].encode("utf-8", "surrogateescape").partition(b"/")[2].partition(b"/")[0]
        )
        if not hmac.compare_digest(token, self._token):
            return "the address lacks this page's token: open the one that pcn printed"
        return ""


async def _answer(send: Send, status: int, body: bytes) -> None:
    security_headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        *security_headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
