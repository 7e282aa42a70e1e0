"""What a supersession says about relevance: a question that finds the legacy way is answered by what supersedes it. Pure.

The words of an old page are often nearer to a question than those of the reference that took its place: "'WINDOW' mnemonic,
create a window" has all of them, ``addWindow`` has none. The link between the two says that they answer the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bbj_pipeline.records import DocumentId
from bbj_pipeline.retrieval.contract import Candidate, DocumentLink, SearchHit

__all__ = ["inherited", "with_counterpart"]


def inherited(
    relevance: Mapping[str, float],
    lent: Mapping[str, float],
    candidates: Mapping[str, Candidate],
    links: Mapping[str, Sequence[DocumentLink]],
) -> dict[str, tuple[str, float]]:
    """Return, by chunk id, the chunk a relevance comes from and the relevance, for each chunk that has less of its own.

    The best chunk of a document that supersedes a found one directly is as relevant as the best chunk of that one is by
    ``lent``, a relevance without what the letters of the question gave it: a legacy identifier asks for the legacy page.
    """
    best: dict[DocumentId, str] = {}
    source: dict[DocumentId, str] = {}
    for identity, chunk in candidates.items():
        document = DocumentId(chunk.kind, chunk.instance, chunk.key)
        for found, scores in ((best, relevance), (source, lent)):
            if document not in found or (-scores[identity], identity) < (-scores[found[document]], found[document]):
                found[document] = identity
    raised: dict[str, tuple[str, float]] = {}
    for identity in best.values():
        for link in links.get(identity, ()):
            old = source.get(DocumentId(link.kind, link.instance, link.key)) if link.relation == "supersedes" else None
            if old is not None and lent[old] > max(relevance[identity], raised.get(identity, ("", 0.0))[1]):
                raised[identity] = (old, lent[old])
    return raised


def with_counterpart(
    chosen: Sequence[SearchHit], hits: Sequence[SearchHit], pairs: Sequence[tuple[str, str]], limit: int
) -> list[SearchHit]:
    """Return the chosen hits, with the other half of the first pair that is chosen by half only in the last place.

    ``pairs`` are chunk ids of a legacy passage and of what answers in its stead: who is shown one is shown both.
    """
    shown = {hit.chunk.id for hit in chosen}
    others = {hit.chunk.id: hit for hit in hits if hit.chunk.id not in shown}
    partners = {one: other for pair in pairs for one, other in (pair, pair[::-1])}
    for hit in chosen[: limit - 1]:
        other = others.get(partners.get(hit.chunk.id, ""))
        if other is not None:
            return [*chosen[: limit - 1], other]
    return list(chosen)
