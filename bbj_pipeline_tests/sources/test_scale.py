"""Exports of any size: what an exporter holds in memory does not grow with the documents, and generated corpora are sound."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from bbj_pipeline.records import RawDocument, Topic
from bbj_pipeline.sources.registry import get_source
from benchmarks.generate import GENERATORS, generate

DOCUMENTS, BYTES = 60, 250_000


def large_export(kind: str, root: Path) -> Path:
    """60 documents of 250 kB, 15 MB in all, which hardly compress to nothing but are cheap to make."""
    suffix, opening = {
        "flare": (".htm", "<html><body><p>{}</p></body></html>"),
        "web_crawl": (".html", "<html><body><main><p>{}</p></main></body></html>"),
        "mdx": (".md", "# Title\n\n{}\n"),
        "bbj_source": (".bbj", 'rem {}\nprint "x"\n'),
    }[kind.partition(".")[0]]
    files = {f"a/{number:03}{suffix}": opening.format(f"{number} " * (BYTES // 4)) for number in range(DOCUMENTS)}
    root.mkdir()
    if kind.endswith(".zip"):
        with zipfile.ZipFile(root / "export.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
            for name, content in files.items():
                out.writestr(name, content)
        return root / "export.zip"
    for name, content in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.mark.parametrize("kind", ["flare", "flare.zip", "web_crawl", "mdx", "bbj_source"])
def test_an_export_holds_a_few_documents_at_a_time(tmp_path: Path, kind: str) -> None:
    """Of 15 MB in 60 documents less than a fifth is in memory at any time."""
    source = get_source(kind.partition(".")[0])
    options = source.options_type(path=large_export(kind, tmp_path / "export"))
    tracemalloc.start()
    try:
        count = sum(isinstance(item, RawDocument) for item in source.export(options))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == DOCUMENTS
    assert peak < DOCUMENTS * BYTES / 5


def peak_of_wordpress(folder: Path, count: int, mode: str) -> int:
    """Bytes that the export of ``count`` recorded posts of 8 kB takes at most; served and read in one process."""
    folder.mkdir()
    for number in range(1, count + 1):
        post = {"id": number, "type": "post", "link": f"https://kb.example.org/{number}/", "title": {"rendered": "A post"}}
        body = {"rendered": f"<p>{number}</p>" + "word " * 1_600}
        text = json.dumps({**post, "modified_gmt": "2025-01-01T10:00:00", "content": body})
        (folder / f"{number}.json").write_text(text)
    source = get_source("wordpress")
    options = source.options_type.model_validate({mode: folder, "delay": 0})
    tracemalloc.start()
    try:
        assert sum(1 for item in source.export(options) if isinstance(item, RawDocument)) == count
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mode", ["path", "replay"])
def test_a_wordpress_export_holds_a_page_at_a_time(tmp_path: Path, mode: str) -> None:
    """Seven times the posts, from a dump or through the API: memory grows by their keys, not by their texts."""
    few, many = (peak_of_wordpress(tmp_path / f"{mode}{count}", count, mode) for count in (300, 900))
    assert many - few < 600 * 8_000 / 4


@pytest.mark.parametrize("kind", GENERATORS)
def test_generated_corpora_are_read_without_a_complaint(tmp_path: Path, kind: str) -> None:
    """What memory is measured with is true to its format: each document a topic, no warning, references resolved."""
    source = get_source(kind.partition(".")[0])
    options = source.options_type(path=generate(kind, tmp_path / "corpus", 6))
    raws = {item.key: item for item in source.export(options) if isinstance(item, RawDocument)}
    topics = [
        topic
        for raw in raws.values()
        if raw.role == "document"
        for topic in source.parse(raw, options, lambda key: raws[key].content)
    ]
    assert len(topics) == 6
    for topic in topics:
        assert isinstance(topic, Topic), topic
        assert not {"warnings", "missing_partials"} & set(topic.metadata)
        assert topic.title
    if source.kind == "flare":
        assert any("See Topic 1 in value" in block.text for topic in topics for block in topic.blocks)
        assert {topic.section_path for topic in topics} == {("Manual",)}
