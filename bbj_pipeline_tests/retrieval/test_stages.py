"""The pure stages of a search: identifiers, fusion, generation scores."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbj_pipeline.records import GENERATIONS, Generation
from bbj_pipeline.retrieval.fusion import fuse
from bbj_pipeline.retrieval.generation import adjusted, generation_score
from bbj_pipeline.stages.identifiers import MAX_IDENTIFIERS, identifiers
from bbj_pipeline.stages.terms import MAX_TERMS, identifier_terms, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BBjSysGui.addWindow()", {"bbjsysgui.addwindow", "bbjsysgui", "addwindow", "bbj", "sys", "gui", "add", "window"}),
        ("PROCESS_EVENTS", {"process_events", "process", "events"}),
        ("--dry-run", {"--dry-run", "dry", "run"}),
        ("!COMPAT", {"!compat", "compat"}),
        ("ERR_CONNECTION_REFUSED", {"err_connection_refused", "err", "connection", "refused"}),
        ("PRINT (sysgui)'WINDOW'(10,10)", {"print", "'window'", "window"}),
        ("sysgui! = BBjAPI().openSysGui", {"sysgui!", "sysgui", "bbjapi", "bbj", "api", "opensysgui", "open", "sys", "gui"}),
        ("CTRL(sysgui,id,index)", {"ctrl"}),
        ("How do I create a window? It isn't hard, they'll see.", set()),
    ],
)
def test_identifiers_are_found_whole_and_in_parts(text: str, expected: set[str]) -> None:
    """Each kind of identifier of the language is kept whole and by its parts; prose gives none."""
    assert set(identifiers(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BBjSysGui.addWindow()", ["bbjsysgui.addwindow", "bbjsysgui", "bbj", "sys", "gui", "addwindow", "add", "window"]),
        ("PROCESS_EVENTS", ["process_events", "process", "event"]),
        ("--dry-run", ["--dry-run", "dry", "run"]),
        ("!COMPAT", ["!compat", "compat"]),
        ("ERR_CONNECTION_REFUSED", ["err_connection_refused", "err", "connection", "refused"]),
        ("PRINT (sysgui)'WINDOW'(10,10)", ["print", "sysgui", "'window'", "window", "10", "10"]),
        (
            "A$ bbj-gui config.bbx 19.10",
            ["a$", "a", "bbj-gui", "bbj", "gui", "config.bbx", "config", "bbx", "19.10", "19", "10"],
        ),
        ("getWindows", ["getwindows", "getwindow", "get", "window"]),
        ("Windows, entries; classes. Über 3D 4MB", ["window", "entry", "classe", "über", "3d", "4mb"]),
        ("isn't is bus class", ["isn", "t", "is", "bus", "class"]),
    ],
)
def test_terms_are_words_and_identifiers_whole_and_in_parts(text: str, expected: list[str]) -> None:
    """Words in lower case without a plural's ending; identifiers whole as they are written, then by their parts."""
    assert terms(text) == expected


@given(st.text(max_size=400))
def test_terms_are_bounded_and_the_same_on_both_sides(text: str) -> None:
    """Whatever the text: never empty, lower case, of bounded length; an identifier written whole is among them."""
    found = terms(text)
    assert all(0 < len(term) <= 100 * 3 and term == term.lower() for term in found)
    assert terms(text) == found
    assert {name for name in identifier_terms(text) if len(name) <= 100} <= set(found)


def test_terms_of_a_long_text_are_cut() -> None:
    """Counts and lengths fit two bytes, whatever stands in a document."""
    assert len(terms("a " * 100_000)) == MAX_TERMS


def test_a_word_and_its_plural_meet_whatever_their_case() -> None:
    """What is asked in lower case finds what is written as a name, and the other way round."""
    for asked, written in (("processevents", "processEvents"), ("window", "Windows"), ("setCallbacks", "setcallbacks")):
        assert set(terms(asked)) & set(terms(written))


@given(st.text(max_size=400))
def test_identifiers_are_usable_lexemes(text: str) -> None:
    """Whatever the text: lower case, no repetition, bounded in number and length, never empty, the same on both sides."""
    found = identifiers(text)
    assert len(found) == len(set(found)) <= MAX_IDENTIFIERS
    assert all(0 < len(name) <= 100 and name == name.lower() for name in found)
    assert identifiers(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "a" * 10**6,
        "a." * 250_000,
        "a-" * 250_000,
        "'a" * 250_000,
        "aB_" * 330_000,
        "x.y-" * 125_000,
        "a " * 250_000,
        "a, " * 250_000 + "(",
    ],
)
def test_a_megabyte_of_anything_takes_no_time(text: str) -> None:
    """No input makes the search for identifiers slow."""
    start = time.process_time()
    identifiers(text)
    terms(text)
    assert time.process_time() - start < 3


def test_fusion_is_the_weighted_sum_of_reciprocal_ranks() -> None:
    """The blueprint's formula, by hand, in shares of the best possible score."""
    fused = dict(fuse([(0.7, ["a", "b"]), (0.3, ["c", "a"])], k=60))
    best = (0.7 + 0.3) / 61
    assert fused == pytest.approx({"a": (0.7 / 61 + 0.3 / 62) / best, "b": 0.7 / 62 / best, "c": 0.3 / 61 / best})


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.lists(st.sampled_from("abcdefgh"), unique=True)), max_size=3),
    st.integers(1, 100),
)
def test_fusion_keeps_every_id_once_in_a_fixed_order(legs: list[tuple[float, list[str]]], k: int) -> None:
    """Ids in are ids out, scores lie in 0..1 and fall, ties are ordered by id, and the order of the legs is no matter."""
    fused = fuse(legs, k=k)
    assert {name for name, _ in fused} == {name for _, names in legs for name in names}
    assert all(0 < score <= 1 + 1e-9 for _, score in fused)
    assert fused == sorted(fused, key=lambda item: (-item[1], item[0]))
    assert dict(fuse(legs[::-1], k=k)) == pytest.approx(dict(fused))


def test_a_leg_without_weight_is_no_division_by_zero() -> None:
    """Weights of zero are allowed by the settings and give an order by id."""
    assert fuse([(0.0, ["b", "a"])], k=60) == [("a", 0.0), ("b", 0.0)]


@pytest.mark.parametrize(
    ("labels", "target", "score"),
    [
        (["all"], None, 95), (["dwc"], None, 90), (["bbj-gui"], None, 85), (["vpro5"], None, 50), (["character"], None, 30),
        ([], None, 95), (["character", "bbj-gui"], None, 85), (["all"], "character", 95), (["dwc"], "dwc", 100),
        (["bbj-gui", "dwc"], "dwc", 100), (["vpro5"], "dwc", 70), (["dwc"], "vpro5", 70), (["character"], "dwc", 20),
        (["dwc"], "character", 20), ([], "dwc", 20), (["all", "dwc"], "dwc", 100), (["dwc"], "all", 20), (["all"], "all", 95),
    ],
)  # fmt: skip
def test_generation_scores_are_the_blueprints(labels: list[Generation], target: Generation | None, score: int) -> None:
    """Every line of the blueprint's scoring, the best label counting; unknown without a target counts as universal."""
    assert generation_score(labels, target) == score


@pytest.mark.parametrize("label", GENERATIONS)
def test_an_unknown_document_that_leads_both_legs_stays_first(label: Generation) -> None:
    """Without a hint nothing known of a document is no mark against it: rank 1 in both legs stays above rank 2 of any label."""
    fused = dict(fuse([(0.7, ["unknown", "known"]), (0.3, ["unknown", "known"])], k=60))
    first = adjusted(fused["unknown"], generation_score([], None), weight=0.2)
    assert first > adjusted(fused["known"], generation_score([label], None), weight=0.2)


@given(st.floats(0, 1), st.sampled_from([None, *GENERATIONS]), st.floats(0, 1), st.lists(st.sampled_from(GENERATIONS)))
def test_legacy_is_lowered_and_never_lost(
    relevance: float, target: Generation | None, weight: float, labels: list[Generation]
) -> None:
    """Scoring takes at most the weight's share of a relevance, and never adds to it."""
    value = adjusted(relevance, generation_score(labels, target), weight=weight)
    assert relevance * (1 - weight) - 1e-9 <= value <= relevance + 1e-9
