"""Spelling distances, wording bonuses, and the selection of hits."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbj_pipeline.retrieval.bonus import Wording
from bbj_pipeline.retrieval.confidence import confidence
from bbj_pipeline.retrieval.contract import Candidate, SearchHit
from bbj_pipeline.retrieval.selection import balanced, collapsed, numbered, surrounded, within_budget
from bbj_pipeline.retrieval.spelling import edit_distance, tolerated

_PLAIN = Candidate(
    id="", kind="mdx", instance="docs", key="a.md", ordinal=0, title="", heading_path=(), contextual_header="", content="",
    url=None, generations=(), doc_type="concept", tokens=100, since_version=None, deprecated_in=None, deprecated=False,
    superseded_by=(), migration_note=None, text_hash="",
)  # fmt: skip


def _hit(identity: str, **fields: object) -> SearchHit:
    return SearchHit(0, 0.5, dataclasses.replace(_PLAIN, id=identity, **fields))  # type: ignore[arg-type]


def _ids(hits: object) -> str:
    return "".join(hit.chunk.id for hit in hits)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [("addwindow", "addwindow", 0), ("adwindow", "addwindow", 1), ("addwidnow", "addwindow", 1), ("xddwindo", "addwindow", 2),
     ("kitten", "sitting", 3), ("abcdef", "badcfe", 3), ("", "ab", 2)],
)  # fmt: skip
def test_edit_distance_counts_four_kinds_of_slips(left: str, right: str, distance: int) -> None:
    """A letter missing, too many, wrong, or swapped with its neighbour is one edit; beyond the bound one more than it."""
    assert edit_distance(left, right, 3) == edit_distance(right, left, 3) == distance
    assert edit_distance(left, right, 1) == min(distance, 2)


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_edit_distance_is_zero_for_equal_words_alone(left: str, right: str) -> None:
    """Symmetric, bounded by the longer length, and zero only for the same word."""
    distance = edit_distance(left, right, 8)
    assert distance == edit_distance(right, left, 8) <= max(len(left), len(right))
    assert (distance == 0) == (left == right)


def test_short_words_are_not_corrected() -> None:
    """Four letters are near too many others; five are forgiven one slip, eight two."""
    assert [tolerated(word) for word in ("find", "print", "callback")] == [0, 1, 2]


def test_a_phrase_has_a_rare_word() -> None:
    """Two neighbouring words count when one is rare; "how do" and words that no chunk has do not."""
    wording = Wording(
        "How do I rebuild MKEYED files", {"how": 90, "do": 90, "i": 90, "rebuild": 1, "mkeyed": 1, "file": 40}, 100
    )
    assert wording.has_phrase("Rebuild, mkeyed: or else")
    assert wording.has_phrase("an MKEYED files list")
    assert not wording.has_phrase("how do others; files that mkeyed rebuild")


def test_an_identifier_counts_as_it_is_written() -> None:
    """A whole identifier in any case counts, its parts do not."""
    wording = Wording("what does BBjSysGui.addWindow return", {"bbjsysgui.addwindow": 1, "addwindow": 2, "return": 3}, 100)
    assert wording.identifiers == {"bbjsysgui.addwindow", "addwindow"}
    assert wording.has_identifier("call sysgui!.ADDWINDOW(1)")
    assert not wording.has_identifier("add a window, see readdwindowing")


def test_copies_are_named_at_the_first() -> None:
    """Of one group the best hit stays and names the others; hits without a group stay."""
    hits = collapsed([_hit("a"), _hit("b"), _hit("c"), _hit("d")], {"a": "g", "c": "g", "d": "h"})
    assert _ids(hits) == "abd"
    assert [chunk.id for chunk in hits[0].copies] == ["c"]
    assert hits[0].to_json()["copies"] == [{"kind": "mdx", "instance": "docs", "key": "a.md"}]


def test_balance_bounds_documents_and_kinds_and_loses_no_place() -> None:
    """Two of a document and four fifths of a kind while there are others; alone, a document may fill all places, in order."""
    one = [_hit(name, key="one.md") for name in "abcde"]
    others = [_hit("f", key="f.md"), _hit("g", kind="pdf"), _hit("h", kind="pdf", key="h")]
    assert _ids(balanced([*one, *others], 5, per_document=2, kind_share=0.8)) == "abfgh"
    assert _ids(balanced([*one, *others], 4, per_document=5, kind_share=0.5)) == "abgh"
    assert _ids(balanced(one, 4, per_document=2, kind_share=0.8)) == "abcd"


def test_a_token_budget_is_filled_and_never_exceeded() -> None:
    """A passage that does not fit any more leaves its place to shorter ones."""
    hits = [_hit("a", tokens=900), _hit("b", tokens=1200), _hit("c", tokens=700), _hit("d", tokens=400)]
    assert _ids(within_budget(hits, 2000)) == "acd"
    assert _ids(within_budget(hits, None)) == "abcd"
    assert within_budget(hits, 300) == []
    assert [hit.rank for hit in numbered(hits)] == [1, 2, 3, 4]


def test_neighbours_fill_what_the_passages_leave_of_a_budget() -> None:
    """Passages come first; then the neighbours of the best as far as they fit, and without a budget all of them."""
    hits = [_hit("a", tokens=100), _hit("b", tokens=100)]
    around = {
        hit.chunk.id: [dataclasses.astuple(_hit(f"{name}{n}", tokens=80).chunk) for n in (1, 2)]
        for name, hit in zip("ab", hits, strict=True)
    }
    assert [len(hit.neighbours) for hit in surrounded(hits, around, None)] == [2, 2]
    assert [len(hit.neighbours) for hit in surrounded(hits, around, 450)] == [2, 1]
    assert [len(hit.neighbours) for hit in surrounded(hits, around, 200)] == [0, 0]


def test_coverage_is_the_share_of_the_question_by_rarity() -> None:
    """All terms give 1, none 0; of "the window" the rare word is nearly everything; a question nobody knows gives 0."""
    wording = Wording("the window", {"the": 90, "window": 5}, 100)
    assert wording.coverage({"the", "window", "other"}) == 1
    assert wording.coverage({"other"}) == 0
    assert 0.95 < wording.coverage({"window"}) < 1
    assert wording.coverage({"the"}) == pytest.approx(1 - wording.coverage({"window"}))
    assert Wording("zzz", {}, 100).coverage({"zzz"}) == 0


def test_confidence_falls_with_missing_rare_words() -> None:
    """The mean of similarity and of the question's weight found in one passage; common words weigh little."""
    frequencies = {"the": 90, "window": 5}
    whole = confidence("the window", [{"the", "window"}, set()], 0.6, frequencies, 100)
    without = confidence("the window", [{"the"}], 0.6, frequencies, 100)
    assert whole == pytest.approx(0.8)
    assert 0.3 < without < 0.35
    assert confidence("window", [], -0.2, frequencies, 100) == 0
