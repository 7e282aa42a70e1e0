"""What is known across sources is replaced whole, read at one moment, and empty where nothing was computed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bbj_pipeline.records import DocumentId, InstanceRef
from bbj_pipeline.stages.duplicates import Copy
from bbj_pipeline.stages.modernisation import DocumentLink, DroppedLink, LinkGraph
from bbj_pipeline.storage.corpus import (
    DocumentCopy,
    corpus_reader,
    document_links,
    published_generations,
    read_report,
    replace_duplicates,
    replace_links,
    representatives,
    save_report,
)
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.publishing import PublishRow
from bbj_pipeline.storage.spaces import Space, active_space
from bbj_pipeline_tests.storage.chunk_factory import REF, chunk, put, unit

A, B, C, D = (DocumentId("mdx", "docs", f"{name}.md") for name in "abcd")
TITLES = {item: (item.key[0].upper(), f"https://x.example.org/{item.key}") for item in (A, B, C, D)}


@pytest.fixture
def published(database: Database) -> Database:
    """Four documents of two chunks each."""
    rows = [
        PublishRow(chunk(item.key, n, f"{item.key} {n}", heading_path=("Part", f"S{n}")), unit(1))
        for item in TITLES
        for n in (0, 1)
    ]
    put(database, rows, "1")
    return database


def linked(database: Database, *documents: DocumentId) -> dict[DocumentId, list[tuple[str, DocumentId, int]]]:
    with database.snapshot(timeout=5) as connection:
        space = active_space(connection)
        assert space is not None
        found = document_links(connection, space, documents)
    return {item: [(link.relation, link.id, link.distance) for link in links] for item, links in found.items()}


def ids(database: Database) -> Iterator[tuple[str, DocumentId]]:
    with corpus_reader(database) as reader:
        yield from ((row.id, row.document) for row in reader.rows())


def test_links_lead_to_all_successors_the_nearest_first(published: Database) -> None:
    """From the oldest document the whole path is found with its steps; supersedes and related are read from both ends."""
    graph = LinkGraph(
        (
            DocumentLink(A, "superseded_by", B, "curated", "a note"),
            DocumentLink(B, "superseded_by", C, "extracted"),
            DocumentLink(C, "related", D, "extracted"),
        ),
        (DroppedLink(D, "related", "Nowhere", "dangling"),),
    )
    replace_links(published, graph, TITLES)
    assert linked(published, A, B, C, D) == {
        A: [("superseded_by", B, 1), ("superseded_by", C, 2)],
        B: [("superseded_by", C, 1), ("supersedes", A, 1)],
        C: [("related", D, 1), ("supersedes", B, 1)],
        D: [("related", C, 1)],
    }
    with corpus_reader(published) as reader:
        assert reader.dropped_links() == list(graph.dropped)
        assert len(reader.links()) == 3
    replace_links(published, LinkGraph((), ()), {})
    assert linked(published, A, B) == {}


def test_a_link_to_a_document_that_is_gone_is_not_served(published: Database) -> None:
    """After its document left the corpus a link leads nowhere until the next report, so search does not see it."""
    replace_links(published, LinkGraph((DocumentLink(A, "superseded_by", B, "curated"),), ()), TITLES)
    put(published, [PublishRow(chunk(item.key, 0, "text"), unit(1)) for item in (A, C, D)], "2")
    assert linked(published, A) == {}


def test_copies_name_their_representative(published: Database) -> None:
    """A copied chunk has its chunk, a chunk of a copied page its page, a chunk of a copied section too; others have none."""
    chunks: dict[DocumentId, list[str]] = {}
    for chunk_id, document in ids(published):
        chunks.setdefault(document, []).append(chunk_id)
    replace_duplicates(
        published,
        [Copy(chunks[B][0], chunks[A][0], 0.9), Copy(chunks[D][0], "0" * 32, 0.9)],
        [DocumentCopy(C, "", A, "", 0.75), DocumentCopy(D, "Part > S1", B, "", 0.8)],
    )
    with published.snapshot(timeout=5) as connection:
        space: Space | None = active_space(connection)
        assert space is not None
        everything = [chunk_id for document in (A, B, C, D) for chunk_id in chunks[document]]
        found = representatives(connection, space, everything)
    assert {key: (value.chunk_id, value.document, round(value.jaccard, 2)) for key, value in found.items()} == {
        chunks[B][0]: (chunks[A][0], A, 0.9),
        chunks[C][0]: (None, A, 0.75),
        chunks[C][1]: (None, A, 0.75),
        chunks[D][1]: (None, B, 0.8),
    }


def test_a_failed_replacement_leaves_the_earlier_set(published: Database) -> None:
    """When the new set cannot be written whole, readers keep the old one."""
    replace_duplicates(published, [Copy("x", "y", 0.9)], [])
    with pytest.raises(Exception, match="duplicates_pkey"):
        replace_duplicates(published, [Copy("a", "b", 0.9), Copy("a", "c", 0.9)], [])
    with corpus_reader(published) as reader:
        assert [copy.member for copy in reader.copies()] == ["x"]


def test_nothing_computed_is_nothing_found(database: Database) -> None:
    """Before the first publication and before the first report, every question has an empty answer."""
    with corpus_reader(database) as reader:
        assert (list(reader.rows()), reader.links(), reader.copies(), reader.document_copies()) == ([], [], [], [])
    assert published_generations(database, REF) == {}
    assert read_report(database, "health") is None


def test_published_generations_and_reports(published: Database) -> None:
    """Chunks are counted by their labels; the latest report of a name is kept."""
    assert published_generations(published, REF) == {("dwc",): 8}
    assert published_generations(published, InstanceRef("mdx", "other")) == {}
    save_report(published, "health", "# One", {"stale": 1}, "run-1")
    save_report(published, "health", "# Two", {"stale": 2}, "run-2")
    stored = read_report(published, "health")
    assert stored is not None
    assert (stored.markdown, dict(stored.counts), stored.run_id) == ("# Two", {"stale": 2}, "run-2")
