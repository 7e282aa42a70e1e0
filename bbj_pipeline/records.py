"""The frozen records that cross every boundary of the pipeline, and the text cleaning done once at that boundary.

Standard library and ``errors`` only. No parsing, no SQL, no Dagster: a record knows its fields, how it is cleaned, how it
becomes JSON, and how its identity is hashed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from bbj_pipeline.errors import ConfigurationError

__all__ = [
    "BLOCK_TYPES",
    "DOC_TYPES",
    "GENERATIONS",
    "MAX_REASON",
    "WITHDRAWN_CODES",
    "Block",
    "BlockType",
    "Chunk",
    "DocType",
    "DocumentId",
    "Evidence",
    "Generation",
    "InstanceRef",
    "RawDocument",
    "Reject",
    "SectionLabels",
    "TaggedDoc",
    "Topic",
    "Unfetched",
    "clean_text",
    "content_hash",
    "embedding_text",
    "to_json",
]

Generation = Literal["all", "character", "vpro5", "bbj-gui", "dwc"]
GENERATIONS: tuple[Generation, ...] = get_args(Generation)

DocType = Literal["api-reference", "concept", "example", "migration", "language-reference", "best-practice", "version-note"]
DOC_TYPES: tuple[DocType, ...] = get_args(DocType)

WITHDRAWN_CODES = frozenset({"draft", "not-published", "protected", "robots-disallowed", "tokenised", "empty-page"})
"""Codes of rejects that say: the authors took this document back, or never gave its text (a tokenised program, an empty page
of a listing).

Such a document is rightly left out: it counts as no failure and is no longer served. Any other reject is broken, and stays
served as it was.
"""

BlockType = Literal["heading", "paragraph", "list_item", "table", "code", "note"]
BLOCK_TYPES: tuple[BlockType, ...] = get_args(BlockType)

MAX_REASON = 1_000
"""Characters of a reject's reason: a person reads it, and it may quote the document that was refused."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Kinds and instances: they become parts of paths."""
_SURROGATES = re.compile("[\ud800-\udfff]")

_MOST_MARKS = 30
"""Combining marks in a row, as the Stream-Safe Text Format has them (Unicode Standard Annex #15, section 13)."""
_MARKS = re.compile(rf"[^\x00-\x7f\w]{{{_MOST_MARKS + 1},}}")
"""Where longer runs of combining marks may be: none of them is ASCII, a letter or a digit."""
_JOINER = "\u034f"


def clean_text(text: str) -> str:
    """Return ``text`` in NFC, with ``\\n`` line ends, U+0000 as a space and lone surrogates as U+FFFD.

    PostgreSQL refuses U+0000 in text and JSON, UTF-8 cannot encode lone surrogates; one of either would refuse a whole batch.
    A space, since the words on both sides of a dropped U+0000 would be one word that nobody finds. No real text has more than
    30 combining marks in a row; longer runs are parted by U+034F, so that time grows with the length alone.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", " ")
    if text.isascii():
        return text
    text = _MARKS.sub(_stream_safe, _SURROGATES.sub("\ufffd", text))
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def _stream_safe(run: re.Match[str]) -> str:
    """Part long runs of combining marks by U+034F: normalising one takes time by the square of its length."""
    parts: list[str] = []
    marks = 0
    for letter in run[0]:
        marks = marks + 1 if unicodedata.combining(letter) else 0
        if marks > _MOST_MARKS:
            parts.append(_JOINER)
            marks = 1
        parts.append(letter)
    return "".join(parts)


def _clean_json(value: Any) -> Any:
    """Clean every string inside a JSON value, keys included; tuples become lists."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(name)): _clean_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(item) for item in value]
    return value


def content_hash(value: Any) -> str:
    """Return the SHA-256 (hex) of a record or JSON value in canonical form: sorted names, no white space.

    A field that takes no part in comparing records takes none in their hash: equal records have equal hashes.
    """
    plain = to_json(value)
    if dataclasses.is_dataclass(value):
        for ignored in (f.name for f in dataclasses.fields(value) if not f.compare):
            plain.pop(ignored, None)
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def to_json(value: Any) -> Any:
    """Turn a record into plain JSON data, leaving out fields that are ``None``; containers are converted recursively."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {name: to_json(item) for name, item in pairs if item is not None}
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


@dataclass(frozen=True, slots=True, order=True)
class InstanceRef:
    """One configured instance of a source kind, written ``kind/instance``."""

    kind: str
    instance: str

    @classmethod
    def parse(cls, text: str) -> InstanceRef:
        """Return the instance written ``kind/instance``; raise ``ConfigurationError`` for a text that names none."""
        kind, _, instance = text.partition("/")
        if not _NAME.fullmatch(kind) or not _NAME.fullmatch(instance):
            raise ConfigurationError(f"{text!r} names no instance", remedy="write KIND/INSTANCE, for example mdx/docs")
        return cls(kind, instance)

    def __str__(self) -> str:
        return f"{self.kind}/{self.instance}"


class DocumentId(NamedTuple):
    """Identity of a document over all sources, written ``kind/instance/key``."""

    kind: str
    instance: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.instance}/{self.key}"


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One raw document as an exporter found it, before any interpretation.

    ``key`` is the raw document's identity inside its instance (a relative path with ``/``, a URL path, a post id).
    ``role`` is ``resource`` for files that are not documents themselves but that documents need (snippets, variable sets,
    partials). ``dependencies`` are the keys of the resources whose content decides the parse of this document: a change in
    one of them makes this document changed. ``metadata`` is what the listing knows and the bytes do not say (the section
    path from a table of contents, for example). ``last_modified`` is ISO 8601 in UTC. ``validators`` are what the site wants
    to hear when it is asked whether the document changed (``etag``, ``last-modified``, …); they are kept and decide nothing:
    two documents that differ in them alone are equal.
    """

    key: str
    content: bytes
    media_type: str = "application/octet-stream"
    role: Literal["document", "resource"] = "document"
    url: str | None = None
    last_modified: str | None = None
    dependencies: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    validators: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", clean_text(self.key))
        if self.url is not None:
            object.__setattr__(self, "url", clean_text(self.url))
        object.__setattr__(self, "metadata", _clean_json(self.metadata))
        object.__setattr__(self, "validators", _clean_json(self.validators))

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of the bytes."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class Reject:
    """A document that was read and cannot be used. ``code`` is stable and kebab-case, ``reason`` is for a person."""

    key: str
    code: str
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", clean_text(self.key))
        reason = clean_text(self.reason)
        object.__setattr__(self, "reason", reason if len(reason) <= MAX_REASON else f"{reason[: MAX_REASON - 1]}…")


@dataclass(frozen=True, slots=True)
class Unfetched:
    """A document that exists but could not be fetched this time; what is known of it must be kept."""

    key: str
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", clean_text(self.key))
        object.__setattr__(self, "reason", clean_text(self.reason))


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a topic, in reading order; headings carry the tree.

    ``text`` of a heading, paragraph, list item or note is collapsed prose on one or more lines; of code it is verbatim; of a
    table it is the plain text of the cells, rows by ``\\n`` and cells by ``\\t`` (made here from ``rows``).
    ``level`` is 1 to 6 for headings and the nesting depth from 1 for list items. ``title`` is a code block's or a note's
    title. ``rows`` is a full grid: the value of a rowspan stands in each of its rows, so that a row can be read on its own,
    that of a colspan in its first column. ``header_rows`` counts leading rows that are headers. ``anchor`` is the fragment a
    URL may point to, ``page`` a PDF page from 1. ``lines`` are the first and the last line of the raw text that the block
    stands for, from 1 and both inclusive, where lines mean something to a reader (program source).
    """

    type: BlockType
    text: str = ""
    level: int | None = None
    language: str | None = None
    title: str | None = None
    rows: tuple[tuple[str, ...], ...] | None = None
    header_rows: int | None = None
    anchor: str | None = None
    page: int | None = None
    lines: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.rows is not None:
            rows = tuple(map(tuple, self.rows))
            text = "\n".join(map("\t".join, rows))
            if clean_text(text) is not text:  # most tables need no cleaning: one look at all cells spares each its own
                rows = tuple(tuple(clean_text(cell) for cell in row) for row in rows)
                text = "\n".join(map("\t".join, rows))
            object.__setattr__(self, "rows", rows)
            object.__setattr__(self, "text", text)
        else:
            object.__setattr__(self, "text", clean_text(self.text))
        if self.title is not None:
            object.__setattr__(self, "title", clean_text(self.title))
        if self.language is not None:
            object.__setattr__(self, "language", clean_text(self.language))
        if self.anchor is not None:
            object.__setattr__(self, "anchor", clean_text(self.anchor))


@dataclass(frozen=True, slots=True)
class Topic:
    """One parsed document: a title and a tree of typed blocks.

    ``section_path`` is where the document stands in its source's hierarchy, outermost first, without its own title.
    ``raw_key`` and ``raw_sha256`` say which raw document it came from. Well-known ``metadata`` names: ``last_updated``,
    ``since_version``, ``deprecated_in``, ``still_valid``, ``supersedes``, ``superseded_by``, ``migration_note``,
    ``signatures``, ``related``, ``keywords``, ``conditions``.
    """

    kind: str
    key: str
    title: str
    blocks: tuple[Block, ...]
    url: str | None = None
    section_path: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    raw_key: str = ""
    raw_sha256: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", clean_text(self.key))
        object.__setattr__(self, "title", " ".join(clean_text(self.title).split()))
        object.__setattr__(self, "section_path", tuple(" ".join(clean_text(s).split()) for s in self.section_path))
        if self.url is not None:
            object.__setattr__(self, "url", clean_text(self.url))
        object.__setattr__(self, "metadata", _clean_json(self.metadata))


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a document carries a label: which cue, found where, with what weight.

    ``where`` is ``block N`` (position in the topic), ``title``, ``package``, ``path``, ``condition``, ``default`` or
    ``override``; ``offset`` counts characters from the start of that text.
    """

    label: Generation
    cue: str
    where: str
    weight: float
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class SectionLabels:
    """The generations of blocks ``first_block`` to ``end_block`` (excluded) of a topic, where they are not the document's."""

    first_block: int
    end_block: int
    generations: tuple[Generation, ...]


@dataclass(frozen=True, slots=True)
class TaggedDoc:
    """A topic with its generations (empty means unknown), their evidence, and its document type with the reason.

    ``sections`` are the ranges of blocks, in order and apart from each other, that speak of other generations than the
    document as a whole; none where it is uniform. Their evidence is the document's that stands in their blocks.
    """

    topic: Topic
    generations: tuple[Generation, ...]
    evidence: tuple[Evidence, ...]
    doc_type: DocType
    doc_type_reason: str
    sections: tuple[SectionLabels, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One retrievable passage of a document.

    ``ordinal`` counts the chunks of the document from 0, ``section_ordinal`` those under the same ``heading_path``.
    ``tokens`` is the length of ``embedding_text`` in the embedding model's own tokens, special tokens included.
    ``overlap`` is how many of those tokens repeat the end of the chunk before.
    ``anchor`` is the fragment of the heading it stands under; ``page`` the PDF page it begins on.
    """

    kind: str
    key: str
    ordinal: int
    section_ordinal: int
    title: str
    heading_path: tuple[str, ...]
    contextual_header: str
    content: str
    tokens: int
    doc_type: DocType
    generations: tuple[Generation, ...]
    url: str | None = None
    anchor: str | None = None
    page: int | None = None
    overlap: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    raw_key: str = ""
    raw_sha256: str = ""

    @property
    def embedding_text(self) -> str:
        """What the embedding model reads: the contextual header, then the content."""
        return embedding_text(self.contextual_header, self.content)

    @property
    def text_hash(self) -> str:
        """SHA-256 (hex) of ``embedding_text``: the identity of its embedding, not of the chunk."""
        return hashlib.sha256(self.embedding_text.encode()).hexdigest()

    def chunk_id(self, ref: InstanceRef) -> str:
        """Return the chunk's identity: 32 hex digits of SHA-256 over instance, key, section and ordinal in the section.

        Content is not part of it, so the same text in two documents is two chunks, and an edited chunk keeps its id.
        """
        identity = [ref.kind, ref.instance, self.key, list(self.heading_path), self.section_ordinal]
        return content_hash(identity)[:32]


def embedding_text(contextual_header: str, content: str) -> str:
    """Join a contextual header and a content the one way that is counted and embedded."""
    return f"{contextual_header}: {content}" if contextual_header else content
