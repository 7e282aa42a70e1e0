"""BM25 in SQL gives the scores of an independent implementation, whole or bounded, filtered or not."""

from __future__ import annotations

import re
from pathlib import Path

import bm25s
import numpy as np
import pytest

from bbj_pipeline.records import Generation
from bbj_pipeline.retrieval.bm25 import K1, B
from bbj_pipeline.retrieval.legs import Filter, Ranked
from bbj_pipeline.retrieval.lexical import LexicalLeg
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.stages.terms import terms
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.lexical import admitted
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline.storage.spaces import active_space
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.storage.chunk_factory import REF, chunk, put, unit

OPEN = Filter()
QUESTIONS = [
    "How do I create a window?",
    "BBjSysGui.addWindow()",
    "what is the difference between a custom property of CSS and a shadow part of the component",
    "the a to of and in is for",
    "--dwc-color setCallback PROCESS_EVENTS 'WINDOW'",
    "window window window",
]


def _passages(folder: Path, pattern: str, most: int) -> list[str]:
    paths = sorted(folder.rglob(pattern))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return [part.replace("\0", "") for text in texts for part in re.split(r"\n\s*\n", text) if part.strip()][:most]


def _published(database: Database, passages: list[str]) -> list[str]:
    """Publish one chunk a passage, labels in turn; return their ids."""
    labels: list[tuple[Generation, ...]] = [("dwc",), ("dwc",), ("all",), ("bbj-gui", "dwc"), ("vpro5",)]
    chunks = [
        chunk(f"{n:05}.md", title="", contextual_header="", content=passage, generations=labels[n % 5])
        for n, passage in enumerate(passages)
    ]
    put(database, [PublishRow(item, unit(1)) for item in chunks], "1")
    return [item.chunk_id(REF) for item in chunks]


def _search(database: Database, question: str, limit: int, condition: Filter = OPEN, **options: int) -> Ranked:
    with database.snapshot(timeout=60) as connection:
        space = active_space(connection)
        assert space is not None
        among = admitted(connection, space, condition.values, filtered=not condition.is_open)
        return LexicalLeg(connection, space, question, **options).search(among, limit)


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        (SAMPLES_DIR, "*.md*"),
        (CORPORA / "mdx" / "bbj-ai-strategy", "*.md*"),
        (CORPORA / "flare" / "localization-clean", "*.htm"),
    ],
)
def test_scores_are_those_of_bm25s(database: Database, folder: Path, pattern: str) -> None:
    """On the same tokens every chunk has the score of bm25s' "lucene" method, to six digits."""
    passages = _passages(folder, pattern, 1500)
    assert len(passages) > 40
    identities = _published(database, passages)
    reference = bm25s.BM25(method="lucene", k1=K1, b=B, dtype="float64")
    reference.index([terms(passage) for passage in passages], show_progress=False)
    for question in QUESTIONS:
        known = [term for term in dict.fromkeys(terms(question)) if term in reference.vocab_dict]
        scores = reference.get_scores(known) if known else np.zeros(len(passages))
        expected = {identities[n]: score for n, score in enumerate(scores) if score > 0}
        found = dict(_search(database, question, len(passages)).items)
        if _search(database, question, 1).details["corrected"] is None:
            assert found == pytest.approx(expected, abs=1e-6), question


@pytest.mark.parametrize(
    "condition",
    [
        Filter(),
        Filter(generations=("vpro5",)),
        Filter(hinted=("vpro5", "all")),
        Filter(generations=("dwc", "all"), hinted=("all",)),
    ],
)
def test_bounding_common_terms_loses_nothing(database: Database, condition: Filter) -> None:
    """Looking for the rarest terms first gives exactly what reading all postings gives, also filtered and with a hint."""
    _published(database, _passages(CORPORA / "mdx" / "bbj-ai-strategy", "*.md*", 1500))
    bounded = 0
    for question in QUESTIONS:
        for limit in (5, 50):
            whole = _search(database, question, limit, condition, first_postings=10**9)
            parts = _search(database, question, limit, condition, first_postings=50)
            assert parts.items == whole.items
            bounded += parts.details.get("common", 0) > 0
    assert bounded > 0


def test_equal_scores_are_ordered_by_id_and_none_is_preferred(database: Database) -> None:
    """Of many equal passages the first ids come back, whatever order they were published in."""
    identities = _published(database, ["one window"] * 40)
    found = _search(database, "window", 10)
    assert [identity for identity, _ in found.items] == sorted(identities)[:10]


def test_a_question_without_a_known_term_finds_nothing(database: Database) -> None:
    """No term, no hit, and no division by an empty corpus."""
    _published(database, ["one window"])
    assert _search(database, "??? zzz", 10).items == ()


def test_misspelt_identifiers_are_forgiven(database: Database) -> None:
    """An identifier that no chunk has finds the one it is misspelt for; one that a chunk has is taken as it is."""
    names = ["BBjSysGui.addWindow()", "setCallback", "addWindows_other", "printing"]
    identities = _published(database, names)
    for question, expected in (("sysgui!.adWindow", 0), ("setCalback", 1), ("SetCallbcak()", 1)):
        found = _search(database, question, 10)
        assert found.items[0][0] == identities[expected], question
        assert found.details["corrected"]
    assert _search(database, "setCallback", 10).details["corrected"] is None
