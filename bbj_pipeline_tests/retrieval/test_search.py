"""Searches over a real database: order, filters, explanations, hostile input."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bbj_pipeline.errors import ConfigurationError, ModelError, NotFound, RejectedInput, SchemaError
from bbj_pipeline.records import DocumentId, Generation, InstanceRef
from bbj_pipeline.retrieval import SearchConfig, Searcher, render_text
from bbj_pipeline.retrieval.dense import DenseLeg
from bbj_pipeline.retrieval.legs import Filter, Ranked
from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.stages.duplicates import Copy
from bbj_pipeline.stages.modernisation import DocumentLink, LinkGraph
from bbj_pipeline.storage.corpus import replace_duplicates, replace_links
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.lexical import admitted
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline.storage.spaces import active_space
from bbj_pipeline_tests.fakes import CountingEmbedder
from bbj_pipeline_tests.storage.chunk_factory import DIMENSION, chunk, put, unit

EMBEDDER = CountingEmbedder(DIMENSION, "test:8")
QUESTION = "How do I create a window?"

ADD_WINDOW = chunk(
    "BBjSysGui.md",
    title="addWindow",
    heading_path=("BBjSysGui", "addWindow"),
    contextual_header="BBjSysGui > addWindow",
    content="Creates a new top-level window: sysgui!.addWindow(x, y, w, h, title$)",
    generations=("bbj-gui", "dwc"),
    url="https://docs.example/BBjSysGui",
)
MNEMONIC = chunk(
    "vpro5-window.md",
    title="'WINDOW' mnemonic",
    heading_path=("Visual PRO/5", "GUI"),
    contextual_header="Visual PRO/5 > GUI > 'WINDOW'",
    content="Creates a window: PRINT (sysgui)'WINDOW'(x,y,w,h,title$,flags$,eventmask$)",
    generations=("vpro5",),
)
LOOP = chunk(
    "for.md", title="FOR/NEXT", contextual_header="Language > FOR", content="Repeats statements.", generations=("all",)
)
UNKNOWN = chunk("misc.md", title="Installing", contextual_header="Installing", content="Unpack the jar.", generations=())
CHARACTER = chunk(
    "print.md", title="PRINT @", contextual_header="Terminal", content="PRINT @(10,5),'CS'", generations=("character",)
)


@pytest.fixture
def corpus(database: Database) -> Database:
    """Five chunks around the blueprint's example; the mnemonic is a little nearer to the question than addWindow."""
    near = EMBEDDER.vector(QUESTION)
    away = [near + offset * unit(*([0] * n), 1) for n, offset in enumerate((0.5, 0.3, 2, 3, 4))]
    chunks = (ADD_WINDOW, MNEMONIC, LOOP, UNKNOWN, CHARACTER)
    put(database, [PublishRow(item, vector) for item, vector in zip(chunks, away, strict=True)], "1")
    return database


def _keys(database: Database, query: str = QUESTION, **options: Any) -> list[str]:
    return [hit.chunk.key for hit in Searcher(database, EMBEDDER).search(query, **options).hits]


def test_the_blueprints_example(corpus: Database) -> None:
    """The generation hint decides which way of creating a window comes first; the other stays in the results."""
    assert _keys(corpus, generation="dwc")[:2] == ["BBjSysGui.md", "vpro5-window.md"]
    assert _keys(corpus, generation="vpro5")[:2] == ["vpro5-window.md", "BBjSysGui.md"]
    assert len(_keys(corpus, generation="dwc")) == 5


def test_strict_admits_the_generation_and_universal_chunks_only(corpus: Database) -> None:
    """A strict search returns every chunk of the generation or of all, and none else."""
    assert set(_keys(corpus, generation="dwc", strict=True)) == {"BBjSysGui.md", "for.md"}
    assert set(_keys(corpus, generation="character", strict=True)) == {"print.md", "for.md"}
    assert _keys(corpus, generation="all", strict=True) == ["for.md"]


def test_kinds_filter(corpus: Database) -> None:
    """Only chunks of the named kinds come back, also from a small kind beside a large one."""
    manual = chunk("manual.pdf", kind="pdf", content="Unrelated.")
    put(corpus, [PublishRow(manual, unit(-1))], "1", ref=InstanceRef("pdf", "manuals"))
    assert _keys(corpus, kinds=["pdf"]) == ["manual.pdf"]
    assert set(_keys(corpus, kinds=["pdf", "mdx"], limit=10)) >= {"manual.pdf", "BBjSysGui.md"}
    assert _keys(corpus, kinds=["no-such-kind"]) == []


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("sysgui!.addWindow", "BBjSysGui.md"),
        ("ADDWINDOW", "BBjSysGui.md"),
        ("'WINDOW'", "vpro5-window.md"),
        ("eventmask$", "vpro5-window.md"),
    ],
)
def test_identifiers_find_their_chunk_by_words(corpus: Database, query: str, key: str) -> None:
    """An API name is found by the lexical leg whatever the vector says."""
    response = Searcher(corpus, EMBEDDER).search(query, explain=True)
    places = {hit.chunk.key: hit.explain["lexical"] for hit in response.hits if hit.explain is not None}
    assert [found for found, place in places.items() if place is not None and place["rank"] == 1] == [key]


def test_any_term_is_enough(corpus: Database) -> None:
    """A question with words that no chunk has still finds the chunks that have one of them."""
    response = Searcher(corpus, EMBEDDER).search("please unpack everything tomorrow", explain=True)
    assert response.explain is not None
    assert response.explain["lexical"]["candidates"] == 1


@pytest.mark.parametrize(
    "query",
    [
        "'; drop table chunks_1; --", "a & b | !c <-> (d", "\\'", "'\\\\'", "' | '", "%s %(x)s {y}", "🪟🪟", "how \0 window",
        "the of and", "?", "((((", "\ud800", "א ב", "a:*", "x" * 4000, "'" * 4000, ".a" * 2000, "A_" * 2000, "$1",
    ],
)  # fmt: skip
def test_hostile_queries_are_only_text(corpus: Database, query: str) -> None:
    """SQL, text search operators, quotes, NUL, surrogates and emoji are searched for like any text; nothing breaks."""
    assert len(_keys(corpus, query)) == 5
    assert len(_keys(corpus)) == 5


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        ("w " * 500_000, {}, "the query has 1,000,000 characters: shorten it to 4,000 or fewer"),
        (" \n\0", {}, "the query is empty: ask in a few words what you look for"),
        ("w", {"limit": 0}, "the limit is 0: use 1 to 100"),
        ("w", {"limit": 101}, "the limit is 101: use 1 to 100"),
        ("w", {"generation": "web"}, "unknown generation 'web': use one of: all, character, vpro5, bbj-gui, dwc"),
        (
            "w",
            {"doc_types": ["poem"]},
            "unknown document type 'poem': use one of: api-reference, concept, example, migration, "
            "language-reference, best-practice, version-note",
        ),
        ("w", {"version": "nineteen"}, "the version is 'nineteen': write it as 19 or 19.10"),
        ("w", {"token_budget": 0}, "the token budget is 0: use 1 or more"),
        ("w", {"neighbours": 6}, "6 neighbours were asked for: use 0 to 5"),
        ("w", {"kinds": ["x"] * 101}, "too many kinds or sources were named: name 100 or fewer"),
        ("w", {"strict": True}, "a strict search names no generation: add one of: all, character, vpro5, bbj-gui, dwc"),
    ],
)
def test_bad_requests_are_refused_with_the_remedy(
    database: Database, query: str, options: dict[str, Any], message: str
) -> None:
    """What cannot be answered is said in one line, before the model or the database is asked."""
    with pytest.raises(RejectedInput) as caught:
        Searcher(database, EMBEDDER).search(query, **options)
    assert str(caught.value) == message


def test_nothing_published_names_the_command(database: Database) -> None:
    """A search before the first run says what to run."""
    with pytest.raises(SchemaError, match="nothing is published yet: run 'bbj-pipeline run' first"):
        Searcher(database, EMBEDDER).search("w")


def test_a_query_of_another_space_is_refused(corpus: Database) -> None:
    """Vectors of two models are never compared."""
    with pytest.raises(ConfigurationError, match="embedded as 'test:8', the query would be as 'other:8'"):
        Searcher(corpus, CountingEmbedder(DIMENSION, "other:8")).search("w")


def test_json_shape(corpus: Database) -> None:
    """The response has the promised names, url null where there is none, and explanations only when asked for."""
    response = Searcher(corpus, EMBEDDER).search(QUESTION, generation="vpro5", limit=2).to_json()
    assert list(response) == ["query", "generation", "confidence", "reranked", "rerank_reason", "hits"]
    assert 0 < response["confidence"] <= 1
    assert (response["query"], response["generation"], len(response["hits"])) == (QUESTION, "vpro5", 2)
    first = response["hits"][0]
    score = first.pop("score")
    assert 0 < score <= 1
    assert first == {
        "rank": 1,
        "id": MNEMONIC.chunk_id(InstanceRef("mdx", "docs")),
        "kind": "mdx",
        "instance": "docs",
        "key": "vpro5-window.md",
        "ordinal": 0,
        "title": "'WINDOW' mnemonic",
        "heading_path": ["Visual PRO/5", "GUI"],
        "contextual_header": MNEMONIC.contextual_header,
        "content": MNEMONIC.content,
        "url": None,
        "generations": ["vpro5"],
        "doc_type": "concept",
        "tokens": 12,
        "deprecated": False,
        "superseded_by": [],
    }
    assert response["hits"][1]["url"] == "https://docs.example/BBjSysGui"
    assert Searcher(corpus, EMBEDDER).search("w").to_json()["generation"] is None


def test_explain_shows_each_stage(corpus: Database) -> None:
    """Ranks and scores of both legs, the fused score, the generation score, paths, counts and times are all there."""
    response = Searcher(corpus, EMBEDDER).search(QUESTION, generation="dwc", explain=True)
    hit = response.hits[0]
    assert hit.explain is not None
    assert hit.explain["dense"]["rank"] == 2
    assert hit.explain["generation_score"] == 100
    fused = (0.5 / 62 + 0.5 / (60 + hit.explain["lexical"]["rank"])) * 61
    assert hit.explain["fused"] == pytest.approx(fused, abs=1e-6)
    assert hit.score == hit.explain["relevance"]
    assert response.explain is not None
    assert response.explain["dense"] == {"path": "exact", "matching": 5, "candidates": 5}
    assert response.explain["lexical"]["terms"]["window"] == 2
    assert {"embed", "filter", "dense", "lexical", "completed", "fetch", "wording"} <= response.explain["milliseconds"].keys()


def test_text_for_a_terminal(corpus: Database) -> None:
    """A person sees title, place, generations and content; control characters do not reach the terminal."""
    put(
        corpus,
        [PublishRow(chunk("x.md", content="bell \x1b[31mred"), EMBEDDER.vector("red bell"))],
        "2",
        approve_deletions=True,
    )
    text = render_text(Searcher(corpus, EMBEDDER).search("red bell"))
    assert "1. Windows" in text
    assert "mdx/docs  x.md  [dwc]  concept" in text
    assert "\x1b" not in text
    assert render_text(Searcher(corpus, EMBEDDER).search("w", kinds=["pdf"])) == "No results: nothing matches."


@pytest.fixture(scope="module")
def many() -> tuple[list[PublishRow], np.ndarray]:
    """6,600 chunks with random vectors, one in fifty of them vpro5, one in a hundred universal; so many take the index."""
    vectors = np.random.default_rng(11).standard_normal((6600, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def labels(n: int) -> tuple[Generation, ...]:
        return ("vpro5",) if n % 50 == 0 else ("all",) if n % 100 == 1 else ("dwc",)

    rows = [
        PublishRow(chunk(f"{n:05}.md", content=f"Passage {n} of many.", generations=labels(n)), vector)
        for n, vector in enumerate(vectors)
    ]
    return rows, vectors


def _exact(rows: list[PublishRow], vectors: np.ndarray, question: Vector, allowed: set[str], k: int = 20) -> set[str]:
    order = np.argsort(-(vectors @ question))
    return {rows[n].chunk.key for n in [n for n in order if set(rows[n].chunk.generations) & allowed][:k]}


def test_every_filter_returns_enough_and_the_right_rows(database: Database, many: tuple[list[PublishRow], np.ndarray]) -> None:
    """By index or exactly, filtered or not: 20 rows come back, and 97 % of them are the true nearest."""
    rows, vectors = many
    put(database, rows, "1", dimension=32)
    embedder = CountingEmbedder(32, "test:8")
    searcher = Searcher(
        database, embedder, SearchConfig(dense_weight=1, lexical_weight=0, preference_weight=0, target_weight=0)
    )
    for generation, strict, allowed in (
        (None, False, {"dwc", "vpro5", "all"}),
        ("vpro5", True, {"vpro5", "all"}),
        ("dwc", True, {"dwc", "all"}),
    ):
        recalls = []
        for n in range(10):
            query = f"zzz{n}"
            found = searcher.search(query, generation=generation, strict=strict, limit=20)  # type: ignore[arg-type]  # a literal
            truth = _exact(rows, vectors, embedder.vector(query), allowed)
            assert len(found.hits) == 20
            recalls.append(len({hit.chunk.key for hit in found.hits} & truth) / 20)
        assert np.mean(recalls) >= 0.97, (generation, recalls)


def test_a_hint_brings_its_own_candidates(database: Database, many: tuple[list[PublishRow], np.ndarray]) -> None:
    """A generation that is rare among the nearest chunks is still offered when the developer names it."""
    rows, vectors = many
    put(database, rows, "1", dimension=32)
    embedder = CountingEmbedder(32, "test:8")
    nearest = _exact(rows, vectors, embedder.vector("zzz"), {"dwc", "vpro5", "all"})
    assert not any(row.chunk.key in nearest for row in rows if row.chunk.generations == ("vpro5",))
    config = SearchConfig(dense_candidates=20, lexical_candidates=20)
    hits = Searcher(database, embedder, config).search("zzz", generation="vpro5", limit=10).hits
    assert any("vpro5" in hit.chunk.generations for hit in hits)


def test_one_index_scan_finds_all_and_what_fits_the_hint(database: Database, many: tuple[list[PublishRow], np.ndarray]) -> None:
    """With a common hint the leg gives the nearest 20 of all and the nearest 20 that fit, each once, best first."""
    rows, vectors = many
    put(database, rows, "1", dimension=32)
    with database.connection() as connection:
        keys = dict(connection.execute("select id, doc_key from doc_chunks").fetchall())
    embedder = CountingEmbedder(32, "test:8")
    shares = []
    with database.snapshot(timeout=60) as connection:
        space = active_space(connection)
        assert space is not None
        among = admitted(connection, space, Filter(hinted=("dwc",)).values, filtered=False)
        for query in ("passage", "zzz", "window", "many of them"):
            found = DenseLeg(connection, space, embedder.vector(query)).search(among, 20)
            assert found.path == "hnsw"
            places = [identity for identity, _ in found.items]
            assert len(places) == len(set(places))
            assert [score for _, score in found.items] == sorted((score for _, score in found.items), reverse=True)
            for allowed in ({"dwc"}, {"dwc", "vpro5", "all"}):
                truth = _exact(rows, vectors, embedder.vector(query), allowed)
                shares.append(len({keys[identity] for identity in places} & truth) / 20)
    assert np.mean(shares) >= 0.97


def test_what_the_index_did_not_meet_is_found_by_its_words(
    database: Database, many: tuple[list[PublishRow], np.ndarray]
) -> None:
    """Of chunks that the words found, the dense leg takes in those the index scan missed, in their place, and no others."""
    rows, vectors = many
    put(database, rows, "1", dimension=32)
    question = CountingEmbedder(32, "test:8").vector("window")
    with database.snapshot(timeout=60) as connection:
        space = active_space(connection)
        assert space is not None
        leg = DenseLeg(connection, space, question)
        whole = leg.search(admitted(connection, space, Filter().values, filtered=False), 100)
        keys = dict(connection.execute("select id, doc_key from doc_chunks").fetchall())
        missed, far = whole.items[:3], min(keys, key=lambda identity: vectors[int(keys[identity][:5])] @ question)
        partial = Ranked(whole.items[3:], whole.generations, "hnsw")
        others = [*(identity for identity, _ in missed), whole.items[10][0], far]
        completed = leg.completed(partial, others, 97)
        assert [identity for identity, _ in completed.items] == [identity for identity, _ in whole.items]
        assert completed.details == {"missed_by_index": 3}
        for identity, similarity in completed.items[:3]:
            assert similarity == pytest.approx(float(vectors[int(keys[identity][:5])] @ question), abs=1e-5)
        exact = Ranked(whole.items[3:], whole.generations, "exact")
        assert leg.completed(exact, others, 97) is exact


def test_rare_labels_return_enough_in_both_legs(database: Database) -> None:
    """A label in 1.8 % of the chunks: every filtered search returns min(k, matching) rows, the true nearest among them."""
    vectors = np.random.default_rng(5).standard_normal((5000, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = [
        PublishRow(
            chunk(f"{n:05}.md", content=f"Passage {n} of many.", generations=("vpro5",) if n % 56 == 0 else ("dwc",)), vector
        )
        for n, vector in enumerate(vectors)
    ]
    put(database, rows, "1", dimension=32)
    embedder = CountingEmbedder(32, "test:8")
    searcher = Searcher(database, embedder, SearchConfig(lexical_weight=0, preference_weight=0, target_weight=0))
    for query in ("passage", "zzz"):
        for limit, expected in ((20, 20), (100, 90)):
            hits = searcher.search(query, generation="vpro5", strict=True, limit=limit).hits
            truth = _exact(rows, vectors, embedder.vector(query), {"vpro5"}, limit)
            assert len(hits) == expected
            assert {hit.chunk.key for hit in hits} == truth


def test_of_two_chunks_the_one_with_more_of_the_question_gains(database: Database) -> None:
    """Equal in the fusion, the chunk in which all words of the question stand comes first, by its coverage alone."""
    both = chunk("both.md", title="", contextual_header="", content="parrots whisper")
    one = chunk("one.md", title="", contextual_header="", content="parrots parrots")
    put(database, [PublishRow(both, unit(1)), PublishRow(one, unit(1))], "1")
    config = SearchConfig(dense_weight=0, lexical_weight=0, phrase_bonus=0)
    hits = Searcher(database, EMBEDDER, config).search("whisper to parrots", explain=True).hits
    plain = Searcher(database, EMBEDDER, replace(config, coverage_bonus=0)).search("whisper to parrots").hits
    assert len({hit.score for hit in plain}) == 1
    assert [hit.chunk.key for hit in hits] == ["both.md", "one.md"]


def test_a_question_asked_again_is_not_embedded_again(corpus: Database) -> None:
    """An agent that narrows its question by a filter gets the same vector without the model; what failed is tried anew."""
    embedder = CountingEmbedder(EMBEDDER.dimension, EMBEDDER.fingerprint)
    searcher = Searcher(corpus, embedder)
    first = searcher.search(QUESTION, explain=True).to_json()
    assert searcher.search(QUESTION, generation="dwc", strict=True).hits
    again = searcher.search(QUESTION, explain=True).to_json()
    assert embedder.queries == [QUESTION]
    assert first["hits"] == again["hits"]

    failing = FailingOnce(EMBEDDER.dimension, EMBEDDER.fingerprint)
    searcher = Searcher(corpus, failing)
    with pytest.raises(ModelError, match="not now"):
        searcher.search(QUESTION)
    assert searcher.search(QUESTION).hits
    assert failing.queries == [QUESTION, QUESTION]


def test_no_hits_come_with_the_reason(corpus: Database) -> None:
    """Nothing that matches, a floor that is not reached and a budget that is too small are told apart; hits need no reason."""
    searcher = Searcher(corpus, EMBEDDER, SearchConfig(confidence_floor=0.99))
    assert searcher.search(QUESTION, kinds=["pdf"]).to_json()["no_hits_reason"] == "nothing matches"
    assert searcher.search(QUESTION, confident=True).to_json()["no_hits_reason"] == "confidence below the floor"
    small = searcher.search(QUESTION, token_budget=1)
    assert small.to_json()["no_hits_reason"] == "token budget too small"
    assert render_text(small) == "No results: token budget too small."
    assert "no_hits_reason" not in searcher.search(QUESTION).to_json()


def test_a_source_that_is_not_served_is_refused_with_those_that_are(corpus: Database) -> None:
    """A misspelt instance is no empty answer."""
    with pytest.raises(NotFound, match=r"no source 'mdx/guid' is served: use: .*mdx/"):
        Searcher(corpus, EMBEDDER).search(QUESTION, sources=["mdx/guid"])


def test_a_misspelt_identifier_counts_as_what_it_stands_for(database: Database) -> None:
    """What was corrected is as sure as what was written right; nothing like it stays unsure."""
    rows = [
        chunk(f"{name}.md", title="", contextual_header="", content=f"{name} does it") for name in ("setCallback", "addWindow")
    ]
    put(database, [PublishRow(item, unit(1)) for item in rows], "1")
    searcher = Searcher(database, EMBEDDER)
    right, wrong, unknown = (searcher.search(name).confidence for name in ("setCallback", "setCalback", "zzzyyyxxx"))
    assert wrong >= right - 0.2
    assert unknown < wrong - 0.2


def test_folded_copies_leave_no_place_empty(database: Database) -> None:
    """Of many passages with many copies as many come back as were asked for."""
    rows = [
        chunk(f"{n:03}-{copy}.md", title="", contextual_header="", content=f"window number{n}")
        for n in range(110)
        for copy in "ab"
    ]
    put(database, [PublishRow(item, unit(1)) for item in rows], "1")
    assert len(Searcher(database, EMBEDDER).search("window", limit=100).hits) == 100


class FailingOnce(CountingEmbedder):
    """A model that does not answer the first time."""

    def embed_query(self, text: str) -> Vector:
        vector = super().embed_query(text)
        if len(self.queries) == 1:
            raise ModelError("not now", remedy="ask again")
        return vector


def test_search_connections_keep_custom_plans(corpus: Database) -> None:
    """However often a search is repeated, no statement is prepared, so no generic plan can replace the filtered one."""
    searcher = Searcher(corpus, EMBEDDER)
    for _ in range(10):
        searcher.search(QUESTION, generation="dwc", strict=True)
    with corpus.connection() as connection:
        assert connection.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)


@pytest.fixture
def versions(database: Database) -> Database:
    """Chunks of one document that came with different versions, one deprecated, one no longer valid, one without a version."""
    told: dict[str, dict[str, Any]] = {
        "old.md": {"since_version": "6.00"},
        "new.md": {"since_version": "19.10"},
        "newest.md": {"since_version": "BBj 24.00"},
        "gone.md": {"deprecated_in": "12.0"},
        "invalid.md": {"still_valid": False, "superseded_by": ["new.md"]},
        "any.md": {},
    }
    rows = [
        PublishRow(
            chunk(key, content=f"window {key}", metadata=metadata, doc_type="example" if key == "any.md" else "concept"),
            unit(1),
        )
        for key, metadata in told.items()
    ]
    put(database, rows, "1")
    return database


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"old", "new", "newest", "gone", "invalid", "any"}),
        ({"version": "19"}, {"old", "new", "gone", "invalid", "any"}),
        ({"version": "19.00"}, {"old", "gone", "invalid", "any"}),
        ({"version": "19.10", "current": True}, {"old", "new", "any"}),
        ({"doc_types": ["example"]}, {"any"}),
        ({"sources": ["mdx/docs"], "current": True}, {"old", "new", "newest", "any"}),
    ],
)
def test_filters_by_version_deprecation_type_and_source(
    versions: Database, options: dict[str, Any], expected: set[str]
) -> None:
    """Each filter admits exactly its chunks in both legs; a chunk without a version is of every version."""
    hits = Searcher(versions, EMBEDDER).search("window", limit=20, **options).hits
    assert {hit.chunk.key.removesuffix(".md") for hit in hits} == expected


def test_deprecated_hits_are_marked(versions: Database) -> None:
    """A hit says that it is deprecated or invalid, in which version, and what stands in its place."""
    hits = {hit.chunk.key: hit.to_json() for hit in Searcher(versions, EMBEDDER).search("window", limit=20).hits}
    assert {key for key, hit in hits.items() if hit["deprecated"]} == {"gone.md", "invalid.md"}
    assert hits["gone.md"]["deprecated_in"] == "12.0"
    assert hits["invalid.md"]["superseded_by"] == ["new.md"]


def test_equal_texts_are_shown_once(database: Database) -> None:
    """Boilerplate with many copies takes one place, which names the others; a search may be told other groups."""
    copies = [PublishRow(chunk(f"{n}.md", content="Subscribe to our letter."), unit(1, 0.1)) for n in range(8)]
    put(database, [*copies, PublishRow(chunk("real.md", content="A letter field."), unit(1))], "1")
    hits = Searcher(database, EMBEDDER).search("letter", limit=5).hits
    assert len(hits) == 2
    assert {len(hit.copies) for hit in hits} == {0, 7}
    assert len(Searcher(database, EMBEDDER, groups=lambda chunks: {}).search("letter", limit=5).hits) == 5


def test_near_duplicates_are_shown_as_the_preferred_one(database: Database) -> None:
    """A copy that ranks higher gives its place to the chunk it is a copy of, and is named there as an alternate."""
    rows = [
        PublishRow(chunk("built.html.md", content="Open a window today."), unit(1)),
        PublishRow(chunk("source.md", content="Open a window."), unit(1, 0.2)),
    ]
    put(database, rows, "1")
    built, source = (row.chunk.chunk_id(InstanceRef("mdx", "docs")) for row in rows)
    before = Searcher(database, EMBEDDER).search("open a window today", limit=5).hits
    assert [hit.chunk.id for hit in before] == [built, source]
    replace_duplicates(database, [Copy(built, source, 0.9)], [])
    (hit,) = Searcher(database, EMBEDDER).search("open a window today", limit=5).hits
    assert (hit.chunk.id, [copy.id for copy in hit.copies], hit.score) == (source, [built], before[0].score)


def test_a_legacy_hit_leads_to_its_modern_equivalent(corpus: Database) -> None:
    """A document that is superseded carries the link, title and note of what supersedes it; the other one links back."""
    old, new = (DocumentId("mdx", "docs", item.key) for item in (MNEMONIC, ADD_WINDOW))
    graph = LinkGraph((DocumentLink(old, "superseded_by", new, "curated", "since BBj 1.0"),), ())
    replace_links(corpus, graph, {old: (MNEMONIC.title, None), new: (ADD_WINDOW.title, ADD_WINDOW.url)})
    hits = {hit.chunk.key: hit for hit in Searcher(corpus, EMBEDDER).search(QUESTION, generation="vpro5").hits}
    assert hits[MNEMONIC.key].to_json()["links"] == [
        {
            "relation": "superseded_by",
            "kind": "mdx",
            "instance": "docs",
            "key": "BBjSysGui.md",
            "title": "addWindow",
            "url": "https://docs.example/BBjSysGui",
            "note": "since BBj 1.0",
        }
    ]
    assert [link.relation for link in hits[ADD_WINDOW.key].links] == ["supersedes"]
    assert hits[LOOP.key].links == ()
    page = render_text(Searcher(corpus, EMBEDDER).search(QUESTION, generation="vpro5"))
    assert "superseded by addWindow (https://docs.example/BBjSysGui): since BBj 1.0" in page


def test_neighbours_stand_around_a_hit(database: Database) -> None:
    """The chunks before and after a hit come with it in order, at the edge of a document fewer."""
    rows = [PublishRow(chunk("a.md", n, f"part{n} of a text"), unit(1, n)) for n in range(5)]
    put(database, [*rows, PublishRow(chunk("b.md", 3, "elsewhere"), unit(-1))], "1")
    searcher = Searcher(database, EMBEDDER, SearchConfig(dense_weight=0))
    hit = searcher.search("part3", neighbours=2).hits[0]
    assert [near.content.split()[0] for near in hit.neighbours] == ["part1", "part2", "part4"]
    assert [near["ordinal"] for near in hit.to_json()["neighbours"]] == [1, 2, 4]


def test_a_token_budget_bounds_the_passages(corpus: Database) -> None:
    """The passages together have at most the tokens asked for."""
    hits = Searcher(corpus, EMBEDDER).search(QUESTION, token_budget=30).hits
    assert [hit.chunk.tokens for hit in hits] == [12, 12]


def test_a_confident_search_gives_nothing_rather_than_noise(corpus: Database) -> None:
    """Asked to be confident, a question that nothing answers has no hits, and says how sure it was; else it has the nearest."""
    searcher = Searcher(corpus, EMBEDDER, SearchConfig(confidence_floor=0.5))
    nothing = searcher.search("okta saml kubernetes login", confident=True)
    assert nothing.hits == ()
    assert nothing.confidence < 0.5
    assert len(searcher.search("okta saml kubernetes login").hits) == 5
    assert searcher.search(QUESTION, confident=True).hits


def test_retrieval_runs_without_dagster() -> None:
    """Importing retrieval loads no Dagster and no model library."""
    code = "import sys, bbj_pipeline.retrieval; print([m for m in ('dagster', 'torch', 'pyarrow') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
