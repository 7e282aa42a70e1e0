"""Properties that hold for any text whatever: nothing raises, no line is lost, none stands twice."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.bbj_source import declarations
from bbj_pipeline.sources.bbj_source.lexer import lex, split_lines
from bbj_pipeline.sources.bbj_source.program import blocks, read_program
from bbj_pipeline.sources.bbj_source.source import SOURCE, BbjSourceOptions
from bbj_pipeline_tests.paths import ROOT

_FILES = [
    path
    for folder in (SAMPLES_DIR / "bbj_source", ROOT / "benchmarks" / "programs")
    for path in sorted(folder.rglob("*.*"))
    if path.suffix not in {".bbx", ".txt"} and "TOKENISED" not in path.name
]
PROGRAMS = [path.read_bytes().decode("cp1252").replace("\r\n", "\n").rstrip("\x1a") for path in _FILES]
LINES = sorted({line for program in PROGRAMS for line in program.split("\n")})
_WORD = re.compile(r"[^\W_]+")

shuffled = st.lists(st.sampled_from(LINES), max_size=40).map("\n".join)
cut = st.builds(
    lambda text, at, size: text[:at] + text[at + size :], st.sampled_from(PROGRAMS), st.integers(0, 900), st.integers(0, 60)
)
anything = st.text(alphabet=st.sampled_from("remclassmethod:;\"'[]/* \n09ARE()=$!#fn"), max_size=120)
texts = st.one_of(shuffled, cut, anything)


def assert_covered(text: str) -> None:
    """Pieces tile the program: in order, apart, and every line outside of them is blank; code is verbatim."""
    program = read_program(text)
    source = split_lines(text)
    at = 1
    for piece in program.pieces:
        assert piece.start >= at
        assert not "".join(source[at - 1 : piece.start - 1]).strip()
        assert piece.end >= piece.start
        at = piece.end + 1
    assert not "".join(source[at - 1 :]).strip()
    made = list(blocks(program))
    code = "\n".join(block.text for block in made if block.type == "code")
    assert code == "\n".join("\n".join(source[p.start - 1 : p.end]) for p in program.pieces if not p.comment)
    words = _WORD.findall(" ".join(block.text for block in made if block.type == "paragraph").casefold())
    wanted = [
        word
        for piece in program.pieces
        if piece.comment
        for line in program.lines
        if piece.start <= line.start <= piece.end and line.statements
        for word in _WORD.findall(re.sub(r"^rem", "", line.statements[0].text.strip().casefold()))
    ]
    assert words == wanted


def test_our_programs_are_covered() -> None:
    """Every line of every program of ours is in exactly one block."""
    for program in PROGRAMS:
        assert_covered(program)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_any_text_is_covered(text: str) -> None:
    """Every line of any text is in exactly one block, and every word of a comment paragraph is kept."""
    assert_covered(text)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_lexed_lines_tile_the_text(text: str) -> None:
    """Logical lines follow one another without gap or overlap, first to last."""
    lines = lex(text)
    assert [line.start for line in lines] == [1, *(line.end + 1 for line in lines[:-1])]
    assert lines[-1].end == len(split_lines(text))


@settings(max_examples=150, deadline=None)
@given(texts)
def test_declarations_stay_inside_the_text(text: str) -> None:
    """Ranges are inside the text, docs stand above them, and the order is that of reading."""
    last = len(split_lines(text))
    found = declarations(text)
    for item in found:
        assert 1 <= item.doc_line <= item.start_line <= item.end_line <= last
    assert [item.start_line for item in found] == sorted(item.start_line for item in found)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=200), texts.map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_are_a_topic_or_a_reject(content: bytes) -> None:
    """Whatever the bytes, exactly one result comes back and nothing is raised."""
    (result,) = SOURCE.parse(RawDocument("x.bbj", content), BbjSourceOptions(), lambda key: b"")
    assert isinstance(result, Topic | Reject)
    assert not isinstance(result, Topic) or result.blocks
