"""Real receivers of alerts on loopback: a Slack webhook that keeps what is posted, a mail server that keeps messages."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Mailbox", "SlackChannel", "mail_server", "slack_server"]


@dataclass
class SlackChannel:
    """Texts in the order they came; ``status`` is what the server answers."""

    url: str = ""
    status: int = 200
    texts: list[str] = field(default_factory=list)


@dataclass
class Mailbox:
    """Messages in the order they came."""

    url: str = ""
    messages: list[EmailMessage] = field(default_factory=list)


@contextmanager
def slack_server() -> Iterator[SlackChannel]:
    channel = SlackChannel()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if channel.status == 200:
                channel.texts.append(body["text"])
            self.send_response(channel.status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of the base class
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        channel.url = f"http://127.0.0.1:{server.server_address[1]}/services/secret-token"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield channel
        server.shutdown()


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """Speaks as much of RFC 5321 as a client needs to hand over a message."""
    mailbox = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 loopback\r\n")
            while line := self.rfile.readline():
                verb = line[:4].upper()
                if verb == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    lines = iter(self.rfile.readline, b".\r\n")
                    found = message_from_bytes(b"".join(lines), policy=policy.default)
                    assert isinstance(found, EmailMessage)
                    mailbox.messages.append(found)
                self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
                if verb == b"QUIT":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        mailbox.url = f"smtp://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield mailbox
        server.shutdown()
