"""Counts that are sums of units are the tokenizer's own, for every kind of tokenizer that is taken to be additive."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, pre_tokenizers
from tokenizers.models import BPE

from bbj_pipeline.models import load_profile, load_tokenizer
from bbj_pipeline.models.tokenizer import ModelTokenizer, unit_pattern
from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.stages.documents import tagged_folder
from benchmarks.byte_level import QWEN_PATTERN, byte_level_tokenizer, write_byte_level_model

PATTERNS = {"qwen": QWEN_PATTERN, "three digits": QWEN_PATTERN.replace(r"\p{N}|", r"\p{N}{1,3}|"), "gpt-2": None}
KINDS = ["wordpiece", *PATTERNS]

# White space of every kind, what looks like it and is not, what clings to it, what combines or changes under normalisation,
# and names of special tokens: the places where a sum could go wrong.
_SPACES = "\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f \x85\xa0\u1680\u180e\u2000\u2009\u200b\u2028\u2029\u202f\u3000\ufeff"
_RUNS = [
    "\n\n",
    "  ",
    "\n    ",
    " \n ",
    "\r\n",
    ".\n",
    "!\n\n",
    "'s",
    "'LL ",
    "\u0301",
    "e\u0301",
    "é",
    "ﬁ",
    "İ",
    "漢字",
    "🙂",
    "٣",
]
_WORDS = [
    "window",
    "addWindow(",
    "BBjAPI()",
    "rem ",
    "12345",
    "7.00",
    "x!",
    "$",
    '"',
    "|",
    "```",
    "#",
    "- ",
    "> ",
    "_",
    "…",
    "\\",
]
_TOKENS = ["[CLS]", "[MASK]", "[UNK]", "<|endoftext|>", "<|im_start|>"]
ATOMS = st.sampled_from([*_SPACES, *_RUNS, *_WORDS, *_TOKENS])
TEXTS = st.lists(ATOMS, max_size=24).map("".join) | st.text(max_size=30)


@cache
def words() -> list[str]:
    return [block.text for doc in tagged_folder("mdx", CORPORA / "mdx/bbj-beginner-course") for block in doc.topic.blocks]


@cache
def tokenizers_of(kind: str) -> tuple[ModelTokenizer, Tokenizer]:
    """The project's tokenizer and the library's for one kind."""
    if kind == "wordpiece":
        profile = load_profile(Settings(), weights=False)
        bare = Tokenizer.from_file(str(profile.folder / "tokenizer.json"))
        bare.no_truncation()
        bare.no_padding()
        return ModelTokenizer(profile), bare
    bare = byte_level_tokenizer(words(), vocabulary=2000, pattern=PATTERNS[kind])
    with TemporaryDirectory() as folder:
        path = write_byte_level_model(Path(folder) / "model", bare, window=512)
        return ModelTokenizer(load_profile(Settings(embedding_model=str(path)), weights=False)), bare


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=settings.default.max_examples)
@given(texts=st.lists(TEXTS, max_size=4))
@example(texts=["a\xa0\xa0\n b", "x \u3000\n\u0301y", "a\x1cb", "a\x85 b", ".\n \n\tz", "<|im_end|> a", " [MASK] a"])
def test_a_count_is_what_the_model_reads(kind: str, texts: list[str]) -> None:
    """Any text, of any signs, counts as many tokens as the library gives for the whole of it, special ones included."""
    ours, bare = tokenizers_of(kind)
    assert unit_pattern(json.loads(bare.to_str())) is not None
    assert ours.count(texts) == [len(encoding.ids) for encoding in bare.encode_batch(texts)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=settings.default.max_examples // 2)
@given(parts=st.lists(TEXTS, min_size=2, max_size=6), joint=st.sampled_from(["", " ", "\n", "\n\n", "  \n", ": "]))
def test_joins_are_counted_exactly(kind: str, parts: list[str], joint: str) -> None:
    """Parts that were counted before are no worse when they are joined: the count of a join is that of the whole text."""
    ours, bare = tokenizers_of(kind)
    ours.count(parts)
    assert ours.count([joint.join(parts)]) == [len(bare.encode(joint.join(parts)).ids)]


def test_a_tokenizer_that_may_not_add_up_is_asked_for_whole_texts(tmp_path: Path) -> None:
    """Unknown expressions, prefixed spaces and tokens that swallow white space have no units, and counts stay exact."""
    bare = byte_level_tokenizer(words(), vocabulary=1000)
    own_words = byte_level_tokenizer(words(), vocabulary=1000, pattern=r"\w+ \w+|\W|\w+")
    prefixed = Tokenizer(BPE())
    prefixed.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    greedy = byte_level_tokenizer(words(), vocabulary=1000)
    greedy.add_special_tokens([AddedToken("<mask>", rstrip=True, special=True)])
    assert unit_pattern(json.loads(bare.to_str())) is not None
    assert [unit_pattern(json.loads(each.to_str())) for each in (own_words, prefixed, greedy)] == [None, None, None]
    folder = write_byte_level_model(tmp_path / "greedy", greedy, window=512)
    texts = ["one <mask>  two", "one  two", ""]
    counted = load_tokenizer(Settings(embedding_model=str(folder))).count(texts)
    assert counted == [len(encoding.ids) for encoding in greedy.encode_batch(texts)]


def test_what_is_remembered_is_bounded() -> None:
    """After more distinct words than are kept, counts are still right and the memory has been given back."""
    ours, bare = tokenizers_of("wordpiece")
    for start in range(5):
        texts = [f"window {start} {number}{'w' * 99_000} button" for number in range(20)]
        assert ours.count(texts)[:2] == [len(encoding.ids) for encoding in bare.encode_batch(texts[:2])]
    assert sum(map(len, ours._known)) <= 8_000_000
