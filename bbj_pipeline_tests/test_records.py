"""The text cleaning that every record does at its boundary, whatever the text."""

from __future__ import annotations

import unicodedata

import pytest

from bbj_pipeline.records import clean_text

MOST_MARKS = 30
"""Of Unicode Standard Annex #15, section 13: no text in any language has more combining marks in a row."""


@pytest.mark.parametrize(
    "text",
    ["cafe\u0301", "\u1100\u1161\u11a8", "a" + "\u0316\u0300" * (MOST_MARKS // 2), "\u2014" * 100, "q\u0307\u0323 \u0344"],
)
def test_text_is_in_normal_form(text: str) -> None:
    """What real text may hold comes out as Unicode's own composition and nothing else."""
    assert clean_text(text) == unicodedata.normalize("NFC", text)


def test_endless_accents_are_parted_and_none_is_lost() -> None:
    """Runs of marks beyond the bound are parted by the joiner, so that normalising ends; cleaning again changes nothing."""
    marks = "\u0300\u0316" * 100_000
    cleaned = clean_text(f"x{marks} word")
    assert unicodedata.is_normalized("NFC", cleaned)
    assert max(len(run) for run in cleaned[1:].removesuffix(" word").split("\u034f")) <= MOST_MARKS
    assert sorted(cleaned.replace("\u034f", "")) == sorted(f"x{marks} word")
    assert clean_text(cleaned) == cleaned
