"""Search results as text for a terminal. Nothing is computed here."""

from __future__ import annotations

import textwrap
from typing import Any

from bbj_pipeline.retrieval.contract import SearchHit, SearchResponse

__all__ = ["render_text"]

WIDTH = 100
_SAID = ("budget spent", "the reranker failed")
"""Why an order was not the cross-encoder's, where it was meant to be."""
LINES = 12
"""Lines of a hit's content at most; the whole of it is in the JSON."""


def render_text(response: SearchResponse) -> str:
    """Return a readable page: each hit with title, place, generations and the beginning of its content."""
    if not response.hits:
        return f"No results: {response.without}."
    blocks = [_hit(hit) for hit in response.hits]
    if response.reranking.reason in _SAID:
        blocks.append(f"Not reranked: {response.reranking.reason}.")
    if response.explain is not None:
        blocks.append(_explain("stages", response.explain))
    return "\n\n".join(blocks)


def _hit(hit: SearchHit) -> str:
    chunk = hit.chunk
    labels = ", ".join(chunk.generations) or "unknown"
    lines = [
        f"{hit.rank}. {chunk.title}  ({hit.score:.3f})",
        f"   {chunk.contextual_header}",
        f"   {chunk.kind}/{chunk.instance}  {chunk.key}  [{labels}]  {chunk.doc_type}",
    ]
    if chunk.url:
        lines.append(f"   {chunk.url}")
    for link in hit.links:
        if link.relation != "related":
            note = f": {link.note}" if link.note else ""
            lines.append(f"   {link.relation.replace('_', ' ')} {link.title} ({link.url or link.key}){note}")
    if hit.explain is not None:
        lines.append(f"   {_explain('explain', hit.explain)}")
    return "\n".join([*lines, "", _content(chunk.content)])


def _content(content: str) -> str:
    """Return the first lines, long ones wrapped; control characters, which a terminal would obey, are shown as spaces."""
    safe = "".join(char if char.isprintable() or char == "\n" else " " for char in content)
    lines = [part for line in safe.split("\n") for part in (textwrap.wrap(line, WIDTH, drop_whitespace=False) or [""])]
    shown = lines[:LINES] + (["…"] if len(lines) > LINES else [])
    return textwrap.indent("\n".join(shown), "      ")


def _explain(name: str, values: Any) -> str:
    return f"{name}: {_flat(values)}"


def _flat(values: Any) -> str:
    if isinstance(values, dict):
        return ", ".join(f"{name} {_nested(value)}" for name, value in values.items() if value is not None)
    return str(values)


def _nested(value: Any) -> str:
    return f"({_flat(value)})" if isinstance(value, dict) else str(value)
