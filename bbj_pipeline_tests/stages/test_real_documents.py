"""Tagging and chunking of real documents: nothing lost, nothing over the window, and plausible labels."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.records import InstanceRef, RawDocument, TaggedDoc, Topic
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import build_options
from bbj_pipeline.sources.registry import get_source
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline.stages.tagging import tag
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.stages.test_chunking_properties import fences_are_balanced

_WORD = re.compile(r"\w+")


def docs_of(kind: str, folder: str) -> list[TaggedDoc]:
    source = get_source(kind)
    options = build_options(source, {"path": str(CORPORA / folder)}, base=CORPORA, where=folder)
    raws = {raw.key: raw for raw in source.export(options) if isinstance(raw, RawDocument)}
    topics = [
        topic
        for raw in raws.values()
        if raw.role == "document"
        for topic in source.parse(raw, options, lambda key: raws[key].content)
        if isinstance(topic, Topic)
    ]
    return [tag(topic, default_doc_type=source.default_doc_type) for topic in topics]


@pytest.mark.parametrize(
    ("kind", "folder"),
    [
        ("mdx", "mdx/bbj-ai-strategy"),
        ("mdx", "mdx/bbj-beginner-course"),
        ("flare", "flare/saleslogix-clean"),
        ("wordpress", "wordpress/code-posts"),
        ("javadoc", "javadoc/bbj"),
    ],
)
def test_real_documents_are_chunked_whole(kind: str, folder: str) -> None:
    """Every word of a text is in its chunks as often (overloads share theirs), within 512 tokens, with fences closed."""
    tokenizer = load_tokenizer(Settings())
    docs = docs_of(kind, folder)
    assert docs
    ids = []
    for doc in docs:
        chunks = chunk(doc, tokenizer)
        ids.extend(item.chunk_id(InstanceRef(kind, "x")) for item in chunks)
        held = Counter(word for item in chunks for text in (*item.heading_path, item.content) for word in _WORD.findall(text))
        body = [block.text for block in doc.topic.blocks if block.type != "heading"]
        needed = Counter(word for text in body for word in _WORD.findall(text))
        if doc.doc_type == "api-reference":
            needed = Counter(set(needed))
        assert not needed - held, f"{doc.topic.key}: {list(needed - held)[:5]}"
        assert all(item.tokens <= 512 for item in chunks)
        assert all(fences_are_balanced(item.content) for item in chunks)
    assert len(set(ids)) == len(ids)


def test_pages_about_bbj_are_tagged_and_others_are_not() -> None:
    """The page that shows all four generations carries four labels; manuals of other products and C++ posts stay unknown."""
    by_key = {doc.topic.key: doc for doc in docs_of("mdx", "mdx/bbj-ai-strategy")}
    challenge = next(doc for key, doc in by_key.items() if "bbj-challenge" in key)
    assert challenge.generations == ("character", "vpro5", "bbj-gui", "dwc")
    assert all(not doc.generations for doc in docs_of("flare", "flare/saleslogix-clean"))
    assert all(not doc.generations for doc in docs_of("wordpress", "wordpress/code-posts"))
    course = {doc.topic.key: doc.generations for doc in docs_of("mdx", "mdx/bbj-beginner-course")}
    assert course["docs/file-io/index.md"] == ("all",)
