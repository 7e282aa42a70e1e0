"""Documents of the real corpora, chunked for two kinds of model: what must hold of every chunk, in short.

The same for all documents, with the sizes by document type, is printed by ``python -m benchmarks.chunk``.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from bbj_pipeline.models import load_profile
from bbj_pipeline.models.tokenizer import ModelTokenizer
from bbj_pipeline.records import TaggedDoc
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline_tests.paths import CORPORA, ROOT
from bbj_pipeline_tests.stages.documents import tagged_folder
from benchmarks.byte_level import byte_level_tokenizer, write_byte_level_model
from benchmarks.chunk_checks import fences_are_balanced, lost, torn_functions

FOLDERS = [
    ("mdx", CORPORA / "mdx/bbj-ai-strategy"),
    ("mdx", CORPORA / "mdx/bbj-beginner-course"),
    ("flare", CORPORA / "flare/saleslogix-clean"),
    ("flare", CORPORA / "flare/edge-cases-clean"),
    ("wordpress", CORPORA / "wordpress/code-posts"),
    ("wordpress", CORPORA / "wordpress/multilingual"),
    ("web_crawl", CORPORA / "web_crawl/bbj-ai-strategy-site"),
    ("bbj_source", ROOT / "benchmarks/programs"),
    ("javadoc", CORPORA / "javadoc/bbj"),
]
EVERY = {"javadoc": 10}
"""Of this kind only every so-and-so-manieth document is taken here."""


@pytest.fixture(scope="module")
def docs() -> list[TaggedDoc]:
    return [doc for kind, folder in FOLDERS for doc in tagged_folder(kind, folder)[:: EVERY.get(kind, 1)]]


@pytest.fixture(scope="module")
def byte_level(docs: list[TaggedDoc]) -> Tokenizer:
    return byte_level_tokenizer((block.text for doc in docs for block in doc.topic.blocks), vocabulary=8_000)


@pytest.fixture(params=["offline", 8192, 512], ids=str)
def model(request: pytest.FixtureRequest, byte_level: Tokenizer, tmp_path: Path) -> tuple[ModelTokenizer, Tokenizer]:
    """A tokenizer of the project's and the library's own for the same model."""
    if request.param == "offline":
        profile = load_profile(Settings(), weights=False)
        bare = Tokenizer.from_file(str(profile.folder / "tokenizer.json"))
        bare.no_truncation()
        bare.no_padding()
        return ModelTokenizer(profile), bare
    folder = write_byte_level_model(tmp_path / "model", byte_level, window=request.param)
    return ModelTokenizer(load_profile(Settings(embedding_model=str(folder)), weights=False)), byte_level


def test_real_documents_in_two_kinds_of_tokens(model: tuple[ModelTokenizer, Tokenizer], docs: list[TaggedDoc]) -> None:
    """Every chunk is in the window by the library's own count and has a header; fences close, no function is torn, no word
    or line of code is lost; prose that goes on shares 10 to 15 % in the middle; three in four passages have their size."""
    tokenizer, bare = model
    assert len(docs) > 200
    made = [(doc, chunk(doc, tokenizer)) for doc in docs]
    chunks = [item for _, items in made for item in items]
    assert [item.tokens for item in chunks] == [
        len(encoding) for encoding in bare.encode_batch_fast([item.embedding_text for item in chunks])
    ]
    assert all(item.tokens <= tokenizer.window and item.contextual_header for item in chunks)
    assert all(fences_are_balanced(item.content) for item in chunks)
    for doc, items in made:
        assert not lost(doc.topic, items, once=doc.doc_type == "api-reference"), doc.topic.key
        assert not [text for text in torn_functions(doc.topic, items) if tokenizer.count([text])[0] < 300], doc.topic.key
    assert 0.10 <= statistics.median(item.overlap / item.tokens for item in chunks if item.overlap) <= 0.15
    low, high = (400, 600) if tokenizer.window > 600 else (384, 512)
    sizes = [item.tokens for doc, items in made if doc.doc_type == "concept" and len(items) > 2 for item in items]
    assert sum(low <= size <= high for size in sizes) >= 0.75 * len(sizes)
