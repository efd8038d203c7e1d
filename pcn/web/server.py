"""Serves the live page on loopback: the page, its files, and its frames as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import re
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from pcn.base.errors import LabError
from pcn.base.seats import Seats
from pcn.topologies.picture.svg import STYLE
from pcn.web import commands
from pcn.web.guard import Guard, new_token
from pcn.web.history import History

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".html": "text/html"}
_FILES = frozenset(
    re.findall(r'(?:src|href)="static/([^"]+)"', (STATIC / "page.html").read_text("utf-8"))
)
"""Files that the page names."""
_MOST_BODY = 16 << 10
_MOST_STREAMS, _MOST_REQUESTS = 16, 64
# together fewer than the requests, beyond which it answers 503
_MOST_CONNECTIONS, _ACCEPTED_AT_ONCE = (
    40,
    16,
)
_REQUEST_S = 10.0
"""Within which a connection has to send a request."""
_KEEP_ALIVE_S = 15.0
_ENDING_S = 3
_IMPORTED_LATER = ("anyio._backends._asyncio", "anyio.streams.memory", "uvicorn.loops.asyncio")
"""For commands that were interrupted."""


class _Connection(H11Protocol):
    """A connection of the page's server: it counts from its first moment, and ends if no request
    comes."""

    seats: Seats[_Connection]
    """Of a server, whose own class of connections this is the base of."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.seats.take(self):
            self.loop.call_later(_REQUEST_S, self._end_if_silent)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.seats.leave(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self._is_asked():
            self.seats.work(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.seats.work(self, busy=self._is_asked())

    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _end_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()


class PortError(LabError):
    """The page's port can't be had."""


@dataclass(frozen=True)
class Served:
    """A page that is served."""

    url: str


class _Pages:
    """The page's requests, which the guard has admitted. Without `control` it is read-only."""

    def __init__(self, history: History, control: commands.Commands | None) -> None:
        self._history = history
        self._control = control
        self._streams = 0

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self._page),
                Route("/static/{name}", self._file),
                Route("/events", self._events),
                Route("/command", self._command, methods=["POST"]),
            ]
        )

    async def _page(self, _request: Request) -> Response:
        return _static("page.html")

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "network.css":
            return Response(STYLE, media_type="text/css")
        return _static(name) if name in _FILES else PlainTextResponse("no such file\n", 404)

    async def _events(self, request: Request) -> Response:
        """Sends events from the item after `Last-Event-ID`, which browsers send when they connect
        again."""
        text = request.headers.get("last-event-id", "0")
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
        if self._streams >= _MOST_STREAMS:
            return PlainTextResponse("too many pages are open\n", 503)
        return StreamingResponse(self._stream(number), media_type="text/event-stream")

    async def _stream(self, number: int) -> AsyncIterator[str]:
        new, loop = asyncio.Event(), asyncio.get_running_loop()
        end = self._history.listen(lambda: _wake(loop, new))
        self._streams += 1
        try:
            yield "retry: 1000\n\n"
            while True:
                new.clear()
                items = self._history.after(number)
                if self._history.closed:
                    return
                for item in items:
                    number = item.number
                    yield f"id: {item.number}\nevent: {item.kind}\ndata: {item.text}\n\n"
                if not items:
                    try:
                        await asyncio.wait_for(new.wait(), _KEEP_ALIVE_S)
                    except asyncio.TimeoutError:
                        yield ": still here\n\n"
        finally:
            self._streams -= 1
            end()

    async def _command(self, request: Request) -> Response:
        if self._control is None:
            return PlainTextResponse("this page is read-only: start it with --control\n", 403)
        if request.headers.get("content-type") != "application/json":
            return PlainTextResponse("a command is JSON\n", 415)
        body = b""
        try:
            async for part in request.stream():
                body += part
                if len(body) > _MOST_BODY:
                    return PlainTextResponse("this command is too long\n", 413)
            words = json.loads(body)
        except (ValueError, RecursionError):
            return PlainTextResponse("a command is JSON\n", 400)
        except ClientDisconnect:
            return Response(status_code=400)
        if why := commands.refusal(words):
            return PlainTextResponse(f"{why}\n", 400)
        try:
            code, output = await self._control.run(words)
        except commands.BusyError as error:
            return PlainTextResponse(f"{error}\n", 503)
        return PlainTextResponse(output, 200 if code == 0 else 400)


def _static(name: str) -> Response:
    path = STATIC / name
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix])


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(event.set)


async def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serves until `should_exit`. Where the process has no descriptors left, asyncio tries again: a
    line for each try, on a terminal that has the run's, helps no one."""
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: log.debug("%s", context.get("message"))
    )
    await server.serve(sockets=[listener])


@contextlib.contextmanager
def serving(history: History, port: int = 0, network: str | None = None) -> Iterator[Served]:
    """Serves the page while the block runs, in a thread: on this port of loopback, 0: a free one.
    `network`: the one that the page's commands change; None: it is read-only. Raises PortError."""
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise PortError(f"--port {port}: {error.strerror}: leave it out for a free one") from None
    control = None if network is None else commands.Commands(network)
    with listener:
        number, token = listener.getsockname()[1], new_token()
        seats = Seats[_Connection](
            _MOST_CONNECTIONS, lambda connection: connection.transport.abort()
        )
        config = uvicorn.Config(
            Guard(_Pages(history, control).app(), token, number),
            access_log=False,  # it would have the token
            log_level="critical",
            lifespan="off",
            loop="asyncio",
            ws="none",
            http=type("Connection", (_Connection,), {"seats": seats}),
            backlog=_ACCEPTED_AT_ONCE,  # asyncio takes so many before it looks at one
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_REQUESTS,
            timeout_graceful_shutdown=_ENDING_S,
        )
        # An import that Ctrl-C interrupts in this thread may leave its lock: the server's would
        # wait for it for good.
        config.load()
        for name in _IMPORTED_LATER:
            importlib.import_module(name)
        server = uvicorn.Server(config)
        running = _run(server, listener)
        thread = threading.Thread(target=asyncio.run, args=(running,), name="web", daemon=True)
        thread.start()
        try:
            yield Served(f"http://127.0.0.1:{number}/{token}/")
        finally:
            history.close()
            if control is not None:
                control.interrupt()
            server.should_exit = True
            thread.join()


def stay(url: str) -> None:
    """Waits for Ctrl-C. The page's address is printed again, as a run's tables have come since."""
    with contextlib.suppress(KeyboardInterrupt):
        click.echo(f"{url} stays until Ctrl-C", err=True)
        threading.Event().wait()
