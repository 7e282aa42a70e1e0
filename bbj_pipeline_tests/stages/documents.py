"""Documents for the stage tests: hypothesis strategies whose every word is unique, so that coverage can be counted exactly."""

from __future__ import annotations

import itertools
import re

from hypothesis import strategies as st

from bbj_pipeline.records import DOC_TYPES, Block, Chunk, TaggedDoc, Topic

_WORD = re.compile(r"w\d+x")


def words_of(text: str) -> list[str]:
    """The marker words of a text, in order."""
    return _WORD.findall(text)


@st.composite
def tagged_docs(draw: st.DrawFn, *, largest: int = 90) -> TaggedDoc:
    """A document of any type with up to 25 blocks of up to ``largest`` words; every word occurs once."""
    counter = itertools.count()

    def prose(count: int) -> str:
        parts = []
        for number in range(count):
            stop = draw(st.sampled_from(["", "", "", "", ".", ";", "?"])) if number % 3 == 2 else ""
            parts.append(f"w{next(counter)}x{stop}")
            if number % 17 == 13 and draw(st.booleans()):
                parts.append(draw(st.sampled_from(["```", "~~~", "|", "\n```\n"])))
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
