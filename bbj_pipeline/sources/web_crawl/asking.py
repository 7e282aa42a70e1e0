"""Asks a site for one file, conditionally where the earlier export holds it, and keeps what the site wants to hear next time.

Pages, robots.txt and sitemaps are asked for alike. What to ask for, and what an answer means, is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bbj_pipeline.records import RawDocument
from bbj_pipeline.sources.http import HttpClient, Reply

__all__ = ["Answer", "ask"]

_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.I)
_VALIDATORS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
_MAX_VALIDATOR = 512


@dataclass(frozen=True, slots=True)
class Answer:
    """A file as it came, or as the earlier export holds it when the site says that it did not change.

    ``validators`` are empty when the site gave none. ``media_type`` is empty when it did not say, or said nothing new.
    """

    url: str
    media_type: str
    charset: str | None
    content: bytes
    validators: Mapping[str, str]


def ask(client: HttpClient, url: str, earlier: Callable[[str], RawDocument | None], *, accept: str, max_bytes: int) -> Answer:
    """Read ``url``; ``earlier`` gives what an earlier export holds of each address on the way. Raises as the client does."""
    known: dict[str, RawDocument] = {}

    def conditions(target: str) -> Mapping[str, str]:
        document = earlier(target)
        if document is None or document.validators.get("url") != target or len(document.content) > max_bytes:
            return {}
        known[target] = document
        return {header: document.validators[name] for name, header in _VALIDATORS.items() if name in document.validators}

    reply = client.get(url, accept=accept, max_bytes=max_bytes, conditions=conditions)
    if reply.status != 304:
        charset = _CHARSET.search(reply.headers.get("content-type", ""))
        return Answer(reply.url, reply.media_type, charset[1] if charset else None, reply.content, _validators(reply))
    same = known[reply.url]
    return Answer(reply.url, "", same.metadata.get("charset"), same.content, {**same.validators, **_validators(reply)})


def _validators(reply: Reply) -> dict[str, str]:
    """Return what the site wants to hear next time, and the URL it said that of: a validator is one URL's own."""
    named = {name: reply.headers.get(name, "") for name in _VALIDATORS}
    usable = {name: value for name, value in named.items() if 0 < len(value) <= _MAX_VALIDATOR}
    return {"url": reply.url, **usable} if usable else {}
