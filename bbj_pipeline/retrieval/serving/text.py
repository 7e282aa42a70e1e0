"""Answers and chunks as text for a reader or an agent, each passage with its citation. Nothing is computed or left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["answer_text", "chunk_text"]


def answer_text(answer: Mapping[str, Any]) -> str:
    """Return the passages, best first, each under a numbered heading that says where it comes from."""
    hits = answer["hits"]
    if not hits and answer.get("no_hits_reason") == "token budget too small":
        return f"No passage fits the token budget: {answer['query']}\nAsk again with a larger token_budget."
    if not hits:
        return (
            f"Nothing was found for: {answer['query']}\n"
            "Ask in other words, or drop filters (kinds, strict). The documentation may not cover it: do not make it up."
        )
    hint = f" (generation: {answer['generation']})" if answer["generation"] else ""
    passages = [
        f"{len(hits)} {'passage' if len(hits) == 1 else 'passages'} for: {answer['query']}{hint}{_order(answer)}",
        *(_hit(hit) for hit in hits),
    ]
    return "\n\n".join(passages)


def chunk_text(chunk: Mapping[str, Any]) -> str:
    """Return a chunk between its neighbours in the document's order, with its citation and provenance."""
    before = [near for near in chunk["neighbours"] if near["ordinal"] < chunk["ordinal"]]
    after = [near for near in chunk["neighbours"] if near["ordinal"] > chunk["ordinal"]]
    origin = chunk["provenance"]
    facts = [
        f"# {chunk['title']}",
        _citation(chunk),
        f"Published {origin['published_at']:%Y-%m-%d} (publication {origin['publication_id']}) from {origin['raw_key']}",
    ]
    if chunk["superseded_by"]:
        facts.append(f"Superseded by: {', '.join(chunk['superseded_by'])}")
    if chunk["migration_note"]:
        facts.append(f"Migration: {chunk['migration_note']}")
    blocks = [
        "\n".join(facts),
        *(_neighbour("before", near) for near in before),
        f"## {chunk['contextual_header']}\n\n{chunk['content']}",
        *(_neighbour("after", near) for near in after),
    ]
    return "\n\n".join(blocks)


def _order(answer: Mapping[str, Any]) -> str:
    """Say when the order is not the one the service was meant to give."""
    reason = answer.get("rerank_reason")
    return f"\nNot reranked: {reason}." if reason in ("budget spent", "the reranker failed") else ""


def _hit(hit: Mapping[str, Any]) -> str:
    lines = [f"[{hit['rank']}] {hit['contextual_header'] or hit['title']}", _citation(hit)]
    if hit.get("superseded_by"):
        lines.append(f"Superseded by: {', '.join(hit['superseded_by'])}")
    lines += [_link(link) for link in hit.get("links") or [] if link["relation"] != "related"]
    around = hit.get("neighbours") or []
    nearby = "".join(f"\n\n(nearby, chunk id {near['id']}) {near['content']}" for near in around)
    return "\n".join([*lines, "", hit["content"] + nearby])


def _link(link: Mapping[str, Any]) -> str:
    place = link["url"] or f"{link['kind']}/{link['instance']}: {link['key']}"
    note = f" ({link['note']})" if link["note"] else ""
    return f"{link['relation'].replace('_', ' ').capitalize()}: {link['title']}, {place}{note}"


def _citation(chunk: Mapping[str, Any]) -> str:
    labels = ", ".join(chunk["generations"]) or "unknown"
    place = chunk["url"] or f"{chunk['kind']}/{chunk['instance']}: {chunk['key']}"
    return f"Source: {place}\nGenerations: {labels} · {chunk['doc_type']} · chunk id {chunk['id']}"


def _neighbour(where: str, near: Mapping[str, Any]) -> str:
    return f"## ({where}, chunk id {near['id']}) {near['contextual_header']}\n\n{near['content']}"
