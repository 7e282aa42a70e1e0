"""What holds for the chunks of any document whatever, by any tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings

from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.records import Block, InstanceRef, TaggedDoc
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline_tests.fakes import WordTokenizer
from bbj_pipeline_tests.stages.documents import make_doc, own_content, tagged_docs, words_of
from benchmarks.chunk_checks import fences_are_balanced


class ByteTokenizer:
    """One byte, one token: white space between paragraphs costs too, and any word can be larger than the room."""

    name = "bytes"
    window = 400

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.encode()) + 2 for text in texts]


class UnevenTokenizer:
    """Long texts have more tokens than their parts together, as a merging tokenizer could: sums are too optimistic."""

    name = "uneven"
    window = 120

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) + len(text.split()) // 20 + 2 for text in texts]


pytestmark = pytest.mark.timeout(900)  # shrinking may take five minutes, and what it finds is the message

TOKENIZERS = [WordTokenizer(512), WordTokenizer(64), ByteTokenizer(), UnevenTokenizer(), load_tokenizer(Settings())]
# Documents of hundreds of words are slow to draw; the profile says how many (conftest: "quick", or "long" by option).
DOCUMENTS = settings(
    max_examples=max(25, settings.default.max_examples // 4),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda item: item.name)
@DOCUMENTS
@given(doc=tagged_docs())
def test_chunks_hold_everything_within_the_window(tokenizer, doc: TaggedDoc) -> None:
    """No word of any block is lost, no chunk is above the window, and its token count is the tokenizer's own."""
    chunks = chunk(doc, tokenizer)

    held = {word for item in chunks for word in words_of(own_content(item))}
    for block in doc.topic.blocks:
        assert set(words_of(block.text)) <= held
        assert set(words_of(block.title or "")) <= held
    assert [item.tokens for item in chunks] == tokenizer.count([item.embedding_text for item in chunks])
    assert all(item.tokens <= tokenizer.window for item in chunks)


@pytest.mark.parametrize("tokenizer", TOKENIZERS[:2], ids=lambda item: item.name)
@DOCUMENTS
@given(doc=tagged_docs())
def test_chunks_are_well_formed_and_in_order(tokenizer, doc: TaggedDoc) -> None:
    """Fences are balanced, nothing is empty, ids are unique, ordinals count from 0, words keep the document's order."""
    chunks = chunk(doc, tokenizer)

    assert all(fences_are_balanced(item.content) for item in chunks)
    assert all(item.content.strip() and item.contextual_header for item in chunks)
    ids = [item.chunk_id(InstanceRef("mdx", "docs")) for item in chunks]
    assert len(set(ids)) == len(ids)
    assert [item.ordinal for item in chunks] == list(range(len(chunks)))
    body = [word for block in doc.topic.blocks if block.type != "heading" for word in words_of(block.text)]
    places: dict[str, int] = {}
    for position, word in enumerate(word for item in chunks for word in words_of(item.content)):
        places.setdefault(word, position)
    first_seen = [places[word] for word in body]
    assert first_seen == sorted(first_seen)


@pytest.mark.parametrize("tokenizer", [*TOKENIZERS[:3], TOKENIZERS[4]], ids=lambda item: item.name)
@DOCUMENTS
@given(doc=tagged_docs())
def test_overlap_is_bounded_and_really_repeats(tokenizer, doc: TaggedDoc) -> None:
    """An overlap is 10 to 15 % of its chunk, stands in the chunk before as well, and words occur twice only through it."""
    chunks = chunk(doc, tokenizer)

    for before, after in pairwise(chunks):
        shared = set(words_of(before.content)) & set(words_of(after.content))
        if after.overlap:
            assert 0.10 <= after.overlap / after.tokens <= 0.15
            assert shared
        elif not any(block.type == "table" for block in doc.topic.blocks):
            headings = {word for block in doc.topic.blocks if block.type == "heading" for word in words_of(block.text)}
            assert shared <= headings


@pytest.mark.parametrize("tokenizer", [*TOKENIZERS[:3], TOKENIZERS[4]], ids=lambda item: item.name)
@DOCUMENTS
@given(doc=tagged_docs(largest=40))
def test_headers_are_bounded_counted_and_without_stutter(tokenizer, doc: TaggedDoc) -> None:
    """A header has at most 48 tokens or a quarter of the window, names nothing twice, and is part of the count."""
    limit = min(48, tokenizer.window // 4)
    special = tokenizer.count([""])[0]
    for item in chunk(doc, tokenizer):
        parts = [part.casefold() for part in item.contextual_header.split(" > ")]
        assert len(set(parts)) == len(parts)
        assert tokenizer.count([item.contextual_header])[0] - special <= limit
        assert item.embedding_text == f"{item.contextual_header}: {item.content}"
        assert item.tokens == tokenizer.count([item.embedding_text])[0]


@DOCUMENTS
@given(doc=tagged_docs())
def test_chunking_is_deterministic(doc: TaggedDoc) -> None:
    """The same document gives the same chunks: a stored result may stand for a new computation."""
    assert chunk(doc, WordTokenizer(256)) == chunk(doc, WordTokenizer(256))


@pytest.mark.parametrize("section_path", [(), ("Guide",), ("Guide", "User interface")], ids=len)
def test_overlap_is_a_share_of_the_chunk_as_it_is(section_path: tuple[str, ...]) -> None:
    """In a window of 64 a token is more than a percent: paragraphs of every length keep to 10 to 15 %, header counted."""
    tokenizer = WordTokenizer(64)
    for length in range(70, 240):
        text = " ".join(f"w{number}x" for number in range(length))
        doc = make_doc(Block("paragraph", text), section_path=section_path)
        later = chunk(doc, tokenizer)[1:]
        assert later
        assert all(0.10 <= item.overlap / item.tokens <= 0.15 for item in later)


def test_an_overlap_has_words() -> None:
    """The end of a chunk that is signs alone is not repeated."""
    text = " ".join(f"w{number}x" for number in range(100)) + " ~~~ --- ~~~ --- ~~~ --- ~~~ --- ~~~ --- ~~~"
    doc = make_doc(Block("paragraph", text), Block("paragraph", " ".join(f"w{number}x" for number in range(100, 130))))
    for item in chunk(doc, WordTokenizer(64)):
        repeated = item.content.split()[: item.overlap]
        assert not item.overlap or words_of(" ".join(repeated))
