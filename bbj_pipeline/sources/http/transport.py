"""Watches the sockets of one client: who is really at the other end, and a way to hang up on a server that never finishes.

The checks themselves belong to the client. ``requests`` bounds each wait but not their sum: a server that sends its headers
byte by byte would hold a run for ever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

__all__ = ["Transport"]


class Transport(HTTPAdapter):
    """An adapter that shows every new connection's host name and peer address to ``on_connect``, which may raise."""

    def __init__(self, on_connect: Callable[[str, str], None]) -> None:
        self._on_connect = on_connect
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pools as always, of connections that report themselves."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _pools(self._connected)

    def _connected(self, host: str, sock: socket.socket | None) -> None:
        if sock is not None:
            self._sockets.add(sock)
            self._on_connect(host, str(sock.getpeername()[0]))

    @contextlib.contextmanager
    def deadline(self, seconds: float) -> Iterator[Callable[[], bool]]:
        """Hang up when the body of the ``with`` takes longer; the value says whether that happened.

        A cut connection looks like a short answer to the layers below, so the caller must ask.
        """
        expired = threading.Event()

        def hang_up() -> None:
            expired.set()
            for sock in list(self._sockets):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(seconds, hang_up)
        timer.daemon = True
        timer.start()
        try:
            yield expired.is_set
        finally:
            timer.cancel()


def _pools(connected: Callable[[str, socket.socket | None], None]) -> dict[str, type[HTTPConnectionPool]]:
    class PlainConnection(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            connected(self.host, self.sock)

    class SecureConnection(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            connected(self.host, self.sock)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = PlainConnection

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = SecureConnection

    return {"http": PlainPool, "https": SecurePool}
