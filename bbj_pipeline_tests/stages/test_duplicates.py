"""Near-duplicates are what exact Jaccard says, as stars around the preferred copy."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from bbj_pipeline.stages.duplicates import Copy, Unit, find_copies, shingles

WORDS = [f"{stem}{number}" for number in range(500) for stem in ("open", "key", "list", "chan")]


def text(seed: int, words: int = 120) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def edited(original: str, places: int, seed: int) -> str:
    """The text with so many words replaced by words of its own, evenly spread."""
    words = original.split()
    for number in range(places):
        words[(number * len(words)) // places] = f"new{seed}x{number}"
    return " ".join(words)


def exact(one: str, other: str) -> float:
    """Jaccard of the sets of five words in a row."""
    first, second = (
        {tuple(words[n : n + 5]) for n in range(len(words) - 4)} for words in (one.lower().split(), other.lower().split())
    )
    return len(first & second) / len(first | second)


def copies_of(units: list[Unit], threshold: float = 0.8, **options: bool) -> list[Copy]:
    return find_copies(lambda: iter(units), threshold=threshold, **options)


def unit(name: str, content: str, rank: int = 0, document: str = "", subject: str = "") -> Unit:
    return Unit(name, document or name, content, (rank, name), frozenset(subject.split()))


def test_every_pair_over_the_threshold_is_found_and_no_other() -> None:
    """Of 300 texts with a copy each of every degree of editing, those are copies whose exact Jaccard is 0.8 or more."""
    units, expected = [], {}
    for seed in range(300):
        original = text(seed)
        copy = edited(original, seed % 12, seed) if seed % 12 else original
        units += [unit(f"a{seed:03}", original), unit(f"b{seed:03}", copy, rank=1)]
        if (similarity := exact(original, copy)) >= 0.8:
            expected[f"b{seed:03}"] = (f"a{seed:03}", round(similarity, 4))
    assert {copy.member: (copy.representative, copy.jaccard) for copy in copies_of(units)} == expected
    assert 20 < len(expected) < 200


def test_stars_are_never_chained() -> None:
    """B is like A and C is like B; C, which is not like A, is no copy of A, and B, a copy, represents nobody."""
    first = text(1, 200)
    second = edited(first, 4, 1)
    third = edited(second, 4, 2).replace("new2x0", "new2x9")
    third = " ".join([*third.split()[10:], *text(9, 10).split()])
    assert exact(first, second) >= 0.8 > exact(first, third)
    assert exact(second, third) >= 0.7
    found = copies_of([unit("a", first), unit("b", second, rank=1), unit("c", third, rank=2)], threshold=0.75)
    assert all(copy.representative == "a" for copy in found)
    assert not {copy.member for copy in found} & {copy.representative for copy in found}


def test_the_preferred_represents() -> None:
    """Whatever the order of reading, the unit that sorts first is the representative."""
    units = [unit("old", text(3), rank=2), unit("site", text(3), rank=1), unit("source", text(3), rank=0)]
    assert [(copy.member, copy.representative) for copy in copies_of(units)] == [("old", "source"), ("site", "source")]


def test_boilerplate_is_one_star() -> None:
    """A text in 2,000 places is one star with 1,999 copies, and nothing else is drawn in."""
    units = [unit(f"n{n:05}", text(7) if n % 2 else text(n + 10_000, 60), document="d") for n in range(4_000)]
    found = copies_of(units)
    assert Counter(copy.representative for copy in found) == {"n00001": 1_999}


def test_api_pages_of_other_members_are_no_copies() -> None:
    """Two members described in the same words are two things; the same member in two sources is one; overloads are many."""
    same = text(5)
    units = [
        unit("flare/getText", same, 0, "flare/a", "bbjbutton gettext"),
        unit("javadoc/getText", same, 1, "javadoc/BBjButton", "bbjbutton gettext methods"),
        unit("javadoc/other", same, 1, "javadoc/BBjEdit", "bbjedit gettext"),
        unit("javadoc/overload", same, 1, "javadoc/BBjEdit", "bbjedit gettext"),
    ]
    assert [(copy.member, copy.representative) for copy in copies_of(units)] == [("javadoc/getText", "flare/getText")]


def test_parts_of_one_document_are_compared_only_when_asked() -> None:
    """A chapter that is all of its manual is no copy of the manual."""
    units = [unit("whole", text(2), document="d"), unit("chapter", text(2), rank=1, document="d")]
    assert copies_of(units, inside_documents=False) == []
    assert len(copies_of(units)) == 1


@pytest.mark.parametrize("content", ["", "one two three", " ".join(WORDS[:11]), "…" * 500])
def test_short_and_wordless_texts_are_like_nothing(content: str) -> None:
    """Texts of under a dozen words are not compared, however many are alike."""
    assert len(shingles(content)) == 0
    assert copies_of([unit(str(n), content) for n in range(50)]) == []


def test_an_empty_corpus_has_no_copies() -> None:
    """Nothing in, nothing out."""
    assert copies_of([]) == []
