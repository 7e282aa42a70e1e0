"""Which of the ranked hits are returned: copies collapsed, documents and kinds in balance, within a token budget. Pure.

Each function takes hits best first and returns hits best first; none changes a score.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bbj_pipeline.retrieval.contract import Candidate, SearchHit

__all__ = ["balanced", "collapsed", "numbered", "surrounded", "within_budget"]


def collapsed(hits: Sequence[SearchHit], groups: Mapping[str, str], preferred: Collection[str] = ()) -> list[SearchHit]:
    """Keep one hit of each group of copies, in the place of the first, and name the others in its ``copies``.

    ``groups`` is by chunk id; a chunk without a group is its own. The one kept is the first, or the first of ``preferred``.
    """
    kept: dict[str, SearchHit] = {}
    for hit in hits:
        group = groups.get(hit.chunk.id, hit.chunk.id)
        place = kept.get(group)
        if place is None:
            kept[group] = hit
        elif hit.chunk.id in preferred and place.chunk.id not in preferred:
            kept[group] = dataclasses.replace(hit, score=place.score, copies=(place.chunk, *place.copies))
        else:
            kept[group] = dataclasses.replace(place, copies=(*place.copies, hit.chunk))
    return list(kept.values())


def balanced(hits: Sequence[SearchHit], limit: int, *, per_document: int, kind_share: float) -> list[SearchHit]:
    """Choose ``limit`` hits: ``per_document`` of one document and ``kind_share`` of the limit of one kind, others first.

    Places that no other document or kind can fill are filled by those that were passed over: nothing is lost for balance.
    """
    per_kind = math.ceil(kind_share * limit)
    documents: Counter[tuple[str, str, str]] = Counter()
    kinds: Counter[str] = Counter()
    chosen, passed = [], []
    for hit in hits:
        document = (hit.chunk.kind, hit.chunk.instance, hit.chunk.key)
        if documents[document] < per_document and kinds[hit.chunk.kind] < per_kind:
            documents[document] += 1
            kinds[hit.chunk.kind] += 1
            chosen.append(hit)
        else:
            passed.append(hit)
    places = {id(hit): place for place, hit in enumerate(hits)}
    return sorted([*chosen, *passed][:limit], key=lambda hit: places[id(hit)])


def within_budget(hits: Sequence[SearchHit], tokens: int | None) -> list[SearchHit]:
    """Take hits in order as long as their tokens fit; one that is too long leaves its place to shorter ones after it."""
    if tokens is None:
        return list(hits)
    taken = []
    for hit in hits:
        if hit.chunk.tokens <= tokens:
            tokens -= hit.chunk.tokens
            taken.append(hit)
    return taken


def surrounded(
    hits: Sequence[SearchHit], around: Mapping[str, Sequence[tuple[Any, ...]]], tokens: int | None
) -> list[SearchHit]:
    """Give each hit the chunks around it, as columns of a ``Candidate`` by the hit's id, as far as all fits ``tokens``."""
    left = None if tokens is None else tokens - sum(hit.chunk.tokens for hit in hits)
    found = []
    for hit in hits:
        near = []
        for chunk in (Candidate(*columns) for columns in around.get(hit.chunk.id, ())):
            if left is None or chunk.tokens <= left:
                left = None if left is None else left - chunk.tokens
                near.append(chunk)
        found.append(dataclasses.replace(hit, neighbours=tuple(near)))
    return found


def numbered(hits: Sequence[SearchHit]) -> tuple[SearchHit, ...]:
    """Give the hits their ranks, from 1."""
    return tuple(dataclasses.replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1))
