"""A built static site served the way static hosts do: ``/x`` finds ``x``, ``x.html`` or ``x/index.html``.

Files are read from the given folder only; a link that leads out of it is answered 404.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bbj_pipeline.sources.replay.server import Answer, serve

__all__ = ["serve_site", "site_answer"]

_TYPES = mimetypes.MimeTypes()
"""Python's own table, the same on every machine."""


@contextmanager
def serve_site(folder: Path, *, base_path: str = "/") -> Iterator[str]:
    """Serve the site in ``folder`` below ``base_path`` and give the origin.

    ``robots.txt`` is also answered at the root of the origin, where crawlers look for it.
    """
    base = "/" + base_path.strip("/") + "/" if base_path.strip("/") else "/"
    root = folder.resolve()
    with serve(lambda target: site_answer(root, base, target)) as origin:
        yield origin


def site_answer(root: Path, base: str, target: str) -> Answer:
    """Answer one request target for the site in ``root`` (resolved) that is mounted at ``base`` (``/…/``)."""
    path = unquote(urlsplit(target).path)
    if path == "/robots.txt":
        return _file(root, root / "robots.txt") or _missing(root)
    if path + "/" == base:
        return Answer(301, headers={"Location": base})
    if not path.startswith(base) or "\0" in path:
        return _missing(root)
    inside = path[len(base) :]
    if inside.endswith("/") or not inside:
        candidates = [f"{inside}index.html", f"{inside.rstrip('/')}.html"]
    else:
        candidates = [inside, f"{inside}.html", f"{inside}/index.html"]
    for candidate in candidates:
        answer = _file(root, root / candidate)
        if answer is not None:
            return answer
    return _missing(root)


def _file(root: Path, path: Path) -> Answer | None:
    """Read ``path`` when it is a file inside ``root``, links followed."""
    try:
        real = path.resolve()
        if not real.is_relative_to(root) or not real.is_file():
            return None
        content, modified = real.read_bytes(), real.stat().st_mtime
    except OSError:
        return None
    media_type = _TYPES.guess_type(real.name)[0] or "application/octet-stream"
    if media_type.startswith("text/html"):
        media_type = "text/html"  # without a charset: the document's own declaration decides
    return Answer(200, content, media_type, {"Last-Modified": formatdate(modified, usegmt=True)})


def _missing(root: Path) -> Answer:
    page = _file(root, root / "404.html")
    return Answer(404, page.content if page else b"<!doctype html><title>Not found</title><p>Not found</p>")
