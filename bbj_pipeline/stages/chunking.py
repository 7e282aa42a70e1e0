"""The chunk stage: a tagged document becomes passages sized for the embedding model, each with its contextual header.

Pure: blocks and a tokenizer in, chunks out. How blocks are rendered, split and packed lies in ``stages.chunks``; here the
drafts become records, are counted exactly, and are made again with a margin when a sum was too optimistic.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bbj_pipeline.errors import ModelError
from bbj_pipeline.records import Chunk, TaggedDoc, Topic, embedding_text
from bbj_pipeline.stages.chunks.document_facts import document_facts
from bbj_pipeline.stages.chunks.headers import HeaderMaker
from bbj_pipeline.stages.chunks.members import Members
from bbj_pipeline.stages.chunks.overlap import Overlap, find_overlaps
from bbj_pipeline.stages.chunks.overloads import join_overloads
from bbj_pipeline.stages.chunks.packing import Packer, limits_for
from bbj_pipeline.stages.chunks.partition import Draft, Limits
from bbj_pipeline.stages.chunks.pieces import Counter, join
from bbj_pipeline.stages.chunks.sections import Section, build_sections
from bbj_pipeline.stages.chunks.uses import Uses
from bbj_pipeline.stages.contract import Tokenizer
from bbj_pipeline.stages.tagging import generations_at

__all__ = ["CHUNKER_VERSION", "chunk"]

CHUNKER_VERSION = "5"

_SCALES = (1.0, 0.92, 0.8, 0.65, 0.5, 0.35)
"""Margins tried in turn. Sums of pieces are exact for WordPiece; a BPE model may need the second."""

_KEPT_METADATA = (
    "since_version",
    "deprecated_in",
    "still_valid",
    "supersedes",
    "superseded_by",
    "migration_note",
    "related",
    "last_updated",
    "conditions",
)
_MAX_KEYWORDS = 24
_FEW_SIGNATURES = 8
"""A page of so many signatures is about them; of a class with more, each passage has those of its member."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A draft as text: what a chunk will say, not yet who it is."""

    draft: Draft
    header: str
    content: str
    tokens: int = 0
    overlap: int = 0


def chunk(doc: TaggedDoc, tokenizer: Tokenizer) -> tuple[Chunk, ...]:
    """Return the document's chunks in reading order, none above ``tokenizer.window`` tokens, nothing of the document lost.

    Raises ``ModelError`` when the window is too small for any passage.
    """
    if doc.doc_type == "api-reference":
        doc = replace(doc, topic=replace(doc.topic, blocks=join_overloads(doc.topic.blocks)))
    counter = Counter(tokenizer)
    headers = HeaderMaker(doc.topic, counter)
    root = build_sections(doc.topic, counter, headers.names())
    for scale in _SCALES:
        limits = limits_for(doc.doc_type, counter.window, scale)
        passages = _overlapping(_passages(doc, root, headers, counter, limits), limits, headers, counter)
        if all(item.tokens <= tokenizer.window for item in passages):
            return _records(doc, _with_uses(passages, Uses(doc.topic), headers, counter))
    raise ModelError(
        f"{doc.topic.kind} {doc.topic.key} cannot be cut to {tokenizer.window} tokens",
        remedy="set BBJ_EMBEDDING_WINDOW to what the model reads, at least 64",
    )


def _passages(doc: TaggedDoc, root: Section, headers: HeaderMaker, counter: Counter, limits: Limits) -> list[_Passage]:
    """Return the document's passages without overlap."""
    drafts = Packer(doc.topic, doc.doc_type, limits, headers, counter).pack(root)
    return _counted([_passage(draft, None, headers) for draft in drafts], counter)


def _overlapping(passages: list[_Passage], limits: Limits, headers: HeaderMaker, counter: Counter) -> list[_Passage]:
    """Return the passages, those that go on from the one before with its end repeated.

    An overlap is a share of the chunk that is made, so it is taken of exact counts: sums of pieces are an upper bound, and
    in a chunk of 60 tokens two too many are a percent.
    """
    sizes = [item.tokens for item in passages]
    overlaps = find_overlaps([item.draft for item in passages], sizes, limits.high, counter)
    longer = [
        _passage(item.draft, overlap, headers) for item, overlap in zip(passages, overlaps, strict=True) if overlap is not None
    ]
    counted = iter(_counted(longer, counter))
    return [
        item if overlap is None else _measured(next(counted), item) for item, overlap in zip(passages, overlaps, strict=True)
    ]


def _with_uses(passages: list[_Passage], uses: Uses, headers: HeaderMaker, counter: Counter) -> list[_Passage]:
    """Return the passages, those of code with the ``use`` lines that they need as far as the window has room for them."""
    wanted = {}
    for number, item in enumerate(passages):
        pieces = uses.needed(item.draft.pieces)
        if len(pieces) > len(item.draft.pieces) and not item.overlap:
            wanted[number] = _passage(replace(item.draft, pieces=pieces), None, headers)
    longer = dict(zip(wanted, _counted(list(wanted.values()), counter), strict=True))
    return [
        longer[number] if number in longer and longer[number].tokens <= counter.window else item
        for number, item in enumerate(passages)
    ]


def _measured(longer: _Passage, without: _Passage) -> _Passage:
    return replace(longer, overlap=longer.tokens - without.tokens)


def _counted(passages: Sequence[_Passage], counter: Counter) -> list[_Passage]:
    counts = counter.exact([embedding_text(item.header, item.content) for item in passages])
    return [replace(item, tokens=count) for item, count in zip(passages, counts, strict=True)]


def _passage(draft: Draft, overlap: Overlap, headers: HeaderMaker) -> _Passage:
    pieces = list(draft.pieces)
    if overlap is not None:
        # after the headings that a merged draft begins with
        position = next(number for number, piece in enumerate(pieces) if piece.kind != "heading")
        pieces.insert(position, overlap)
    scopes = {piece.scope for piece in pieces}
    scope = next(iter(scopes)) if len(scopes) == 1 else ()
    path = (*draft.path, *scope, *((draft.lead,) if draft.lead else ()))
    header, _ = headers.make(path)
    return _Passage(draft, header, join(pieces))


def _records(doc: TaggedDoc, passages: Sequence[_Passage]) -> tuple[Chunk, ...]:
    topic = doc.topic
    shared = _shared_metadata(topic)
    members = Members(topic)
    seen: Tally[tuple[str, ...]] = Tally()
    chunks = []
    for ordinal, passage in enumerate(passages):
        draft = passage.draft
        path = draft.path
        blocks = sorted(piece.block for piece in draft.pieces)
        anchor, page = _place(topic, draft)
        facts = shared if ordinal else {**shared, **document_facts(topic)}
        chunks.append(
            Chunk(
                kind=topic.kind,
                key=topic.key,
                ordinal=ordinal,
                section_ordinal=seen[path],
                title=topic.title,
                heading_path=path,
                contextual_header=passage.header,
                content=passage.content,
                tokens=passage.tokens,
                doc_type=doc.doc_type,
                generations=generations_at(doc, blocks[0], blocks[-1] + 1),
                url=members.url(draft),
                anchor=anchor,
                page=page,
                overlap=passage.overlap,
                metadata={**members.metadata(facts, draft, passage.content), **_lines(topic, blocks)},
                raw_key=topic.raw_key,
                raw_sha256=topic.raw_sha256,
            )
        )
        seen[path] += 1
    return tuple(chunks)


def _place(topic: Topic, draft: Draft) -> tuple[str | None, int | None]:
    """Return where in its document a draft begins: the anchor of its heading or of its lines, the page of its first block."""
    own = topic.blocks[next((piece for piece in draft.pieces if piece.kind != "heading"), draft.pieces[0]).block]
    anchor = draft.chain[-1].anchor if draft.chain else None
    return anchor or (f"L{own.lines[0]}" if own.lines else None), own.page


def _lines(topic: Topic, blocks: Sequence[int]) -> dict[str, list[int]]:
    """Return the first and last source line of the blocks, where their format has lines a reader can go to."""
    spans = [lines for lines in (topic.blocks[block].lines for block in blocks) if lines is not None]
    return {"lines": [min(first for first, _ in spans), max(last for _, last in spans)]} if spans else {}


def _shared_metadata(topic: Topic) -> dict[str, Any]:
    """Return the topic's metadata that search needs; bounded, because it is stored once a chunk."""
    kept = {name: topic.metadata[name] for name in _KEPT_METADATA if topic.metadata.get(name) not in (None, "", [], {})}
    keywords = topic.metadata.get("keywords")
    if isinstance(keywords, list) and keywords:
        kept["keywords"] = keywords[:_MAX_KEYWORDS]
    signatures = topic.metadata.get("signatures")
    if isinstance(signatures, list) and 0 < len(signatures) <= _FEW_SIGNATURES:
        kept["signatures"] = signatures
    return kept
