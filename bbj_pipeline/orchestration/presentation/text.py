"""Values as Markdown for the UI: cut, escaped, without credentials. What is shown is chosen by the callers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["MAX_CELL", "MAX_ROWS", "cell", "link", "markdown_table", "without_credentials"]

MAX_ROWS = 8
MAX_CELL = 90
"""Characters of a cell: eight columns still fit a wide screen."""
_MAX_URL = 500

_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")
_SECRET_PARAMETER = re.compile(
    r"(?i)(?<=[?&;])([\w.-]*(?:token|secret|password|passwd|signature|api[_-]?key|access[_-]?key|credential)[\w.-]*)=[^&;#\s)\]]+"
)
_MARKUP = re.compile(r"([\\`*_\[\]<>|])")


def without_credentials(text: str) -> str:
    """Return ``text`` with the user information and the secret-looking parameters of every URL in it replaced by ``…``."""
    return _SECRET_PARAMETER.sub(r"\1=…", _USER_INFO.sub("…@", text))


def cell(value: object) -> str:
    """Return a value as one cell of a table: on one line, at most ``MAX_CELL`` characters, without credentials."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    text = without_credentials(" ".join(text.split()))
    text = text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"
    return text.replace("|", "\\|")


def link(label: str, url: str | None) -> str:
    """Return a Markdown link; a URL that is not http(s), or longer than a browser likes, leaves the label alone."""
    shown = " ".join(without_credentials(label).split())
    shown = _MARKUP.sub(r"\\\1", shown if len(shown) <= MAX_CELL else shown[: MAX_CELL - 1] + "…")
    if url is None or len(url) > _MAX_URL or not url.startswith(("https://", "http://")):
        return shown
    target = without_credentials(url).replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("<", "%3C")
    return f"[{shown}]({target})"


def markdown_table(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Return the first ``MAX_ROWS`` rows as a Markdown table of the columns ``names``."""
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(cell(row[name]) for name in names) + " |" for row in rows[:MAX_ROWS]]
    return "\n".join(lines)
