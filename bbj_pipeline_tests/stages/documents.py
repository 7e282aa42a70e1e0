"""Documents for the stage tests: hypothesis strategies whose every word is unique, so that coverage can be counted exactly."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from hypothesis import strategies as st

from bbj_pipeline.records import DOC_TYPES, Block, Chunk, RawDocument, TaggedDoc, Topic
from bbj_pipeline.sources.config import build_options
from bbj_pipeline.sources.registry import get_source
from bbj_pipeline.stages.tagging import tag

_WORD = re.compile(r"w\d+x")


def words_of(text: str) -> list[str]:
    """The marker words of a text, in order."""
    return _WORD.findall(text)


@st.composite
def tagged_docs(draw: st.DrawFn, *, largest: int = 90) -> TaggedDoc:
    """A document of any type with up to 25 blocks of up to ``largest`` words; every word occurs once."""
    counter = itertools.count()

    def prose(count: int) -> str:
        # a pattern that repeats, not a choice a word: documents are drawn fast, and shrunk fast
        stops = draw(st.lists(st.sampled_from(["", "", ".", ";", "?"]), min_size=1, max_size=7)) if count > 2 else [""]
        mark = draw(st.sampled_from(["", "```", "~~~", "|", "\n```\n"])) if count > 13 else ""
        parts = []
        for number in range(count):
            stop = stops[number // 3 % len(stops)] if number % 3 == 2 else ""
            parts.append(f"w{next(counter)}x{stop}")
            if mark and number % 17 == 13:
                parts.append(mark)
        return " ".join(parts)

    def lines(count: int) -> str:
        indents = [draw(st.sampled_from(["", "  ", "    "])) for _ in range(4)]
        shape = draw(st.sampled_from([1, 3, 7]))
        out = []
        for number in range(0, count, shape):
            out.append(indents[number % 4] + " ".join(f"w{next(counter)}x" for _ in range(min(shape, count - number))))
            if number % 11 == 10:
                out.append("")
        return "\n".join(out)

    blocks: list[Block] = []
    for _ in range(draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(["heading", "paragraph", "paragraph", "list_item", "code", "table", "note"]))
        size = draw(st.integers(1, largest))
        if kind == "heading":
            blocks.append(Block("heading", prose(min(size, 40 if size % 9 == 0 else 4)), level=draw(st.integers(1, 5))))
        elif kind == "code":
            ticks = draw(st.sampled_from(["", "", "```\n", "````\n"]))
            language = draw(st.sampled_from(["bbj", None, "java", "we ird`"]))
            title = prose(2) if draw(st.booleans()) else None
            blocks.append(Block("code", ticks + lines(size), language=language, title=title))
        elif kind == "table":
            columns = draw(st.integers(1, 4))
            rows = tuple(tuple(prose(draw(st.integers(0, 6))) for _ in range(columns)) for _ in range(1 + size // 6))
            blocks.append(Block("table", rows=rows, header_rows=draw(st.integers(0, min(2, len(rows))))))
        elif kind == "list_item":
            blocks.append(Block("list_item", prose(size), level=draw(st.integers(1, 3))))
        elif kind == "note":
            blocks.append(Block("note", prose(size), title=prose(2) if draw(st.booleans()) else None))
        else:
            blocks.append(Block("paragraph", prose(size)))
    topic = Topic("mdx", "guide/a.md", "Windows in BBj", tuple(blocks), section_path=("Guide", "User interface"))
    return TaggedDoc(topic, (), (), draw(st.sampled_from(DOC_TYPES)), "drawn")


def own_content(chunk: Chunk) -> str:
    """Everything a chunk holds: headings above it and content."""
    return "\n".join((*chunk.heading_path, chunk.content))


def make_doc(
    *blocks: Block, doc_type: str = "concept", title: str = "Windows", key: str = "a.md", **topic: object
) -> TaggedDoc:
    """A tagged document of these blocks."""
    made = Topic("mdx", key, title, tuple(blocks), **topic)  # type: ignore[arg-type]
    return TaggedDoc(made, (), (), doc_type, "given")  # type: ignore[arg-type]


def tagged_folder(kind: str, folder: Path) -> list[TaggedDoc]:
    """The tagged documents of a real export."""
    source = get_source(kind)
    options = build_options(source, {"path": str(folder)}, base=folder, where=str(folder))
    raws = {raw.key: raw for raw in source.export(options) if isinstance(raw, RawDocument)}
    topics = [
        topic
        for raw in raws.values()
        if raw.role == "document"
        for topic in source.parse(raw, options, lambda key: raws[key].content)
        if isinstance(topic, Topic)
    ]
    return [tag(topic, default_doc_type=source.default_doc_type) for topic in topics]
