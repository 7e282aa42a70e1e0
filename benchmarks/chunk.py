"""What the chunker makes of all real corpora, with two kinds of tokenizer, and how fast.

    python -m benchmarks.chunk [--runs N]

First what must hold (window, fences, functions, coverage) and the sizes by document type with the reasons of those outside
their target; then CPU time beside the same texts tokenised once in one batch by the library alone, and beside semchunk with
the same tokenizer. Every run starts with a tokenizer that remembers nothing. Nothing is asserted: numbers are for people.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import semchunk
from tokenizers import Tokenizer as HfTokenizer

from bbj_pipeline.models import ModelProfile, load_profile
from bbj_pipeline.models.tokenizer import ModelTokenizer
from bbj_pipeline.records import DOC_TYPES, Block, Chunk, DocType, RawDocument, TaggedDoc, Topic
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline.stages.chunks.packing import TARGETS
from bbj_pipeline.stages.tagging import tag
from benchmarks.byte_level import byte_level_tokenizer, write_byte_level_model
from benchmarks.chunk_checks import fences_are_balanced, lost, torn_functions

CORPORA = Path(__file__).with_name("corpora.yaml")
REASONS = ("in target", "whole document", "whole member", "indivisible", "neighbours full", "code as it is", "other")


@dataclass(frozen=True)
class Model:
    """One tokenizer to chunk with: ours, made anew for every run, and the library's."""

    name: str
    profile: ModelProfile
    bare: HfTokenizer

    def fresh(self) -> ModelTokenizer:
        return ModelTokenizer(self.profile)

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in self.bare.encode_batch_fast(list(texts))]


def main() -> None:
    arguments = argparse.ArgumentParser(description="Properties, sizes and speed of chunking the real corpora")
    arguments.add_argument("--runs", type=int, default=3, help="best of this many runs (default: 3)")
    given = arguments.parse_args()
    topics = list(read_topics())
    docs = [tag(topic, default_doc_type=default) for topic, default in topics]
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores; {len(docs)} documents\n")
    with TemporaryDirectory() as folder:
        models = list(models_for(docs, Path(folder)))
        for model in models:
            report_properties(model, docs)
        report_growth(models[0])
        for model in models:
            report_speed(model, topics, docs, given.runs)


def read_topics() -> Iterator[tuple[Topic, DocType]]:
    """Yield every topic of every configured corpus with the document type its source has by default."""
    for instance in load_sources(CORPORA):
        raws = {raw.key: raw for raw in instance.source.export(instance.options) if isinstance(raw, RawDocument)}
        for raw in raws.values():
            if raw.role == "document":
                for item in instance.source.parse(raw, instance.options, lambda key, known=raws: known[key].content):
                    if isinstance(item, Topic):
                        yield item, instance.source.default_doc_type


def models_for(docs: Sequence[TaggedDoc], folder: Path) -> Iterator[Model]:
    """Yield the offline model, and a byte-level BPE trained on the documents in a wide and in a narrow window."""
    profile = load_profile(Settings(), weights=False)
    offline = HfTokenizer.from_file(str(profile.folder / "tokenizer.json"))
    offline.no_truncation()
    offline.no_padding()
    yield Model(f"{profile.name}, window {profile.window}", profile, offline)
    trained = byte_level_tokenizer(block.text for doc in docs for block in doc.topic.blocks)
    for window in (8192, 512):
        path = write_byte_level_model(folder / f"byte-level-{window}", trained, window=window)
        yield Model(
            f"byte-level BPE, window {window}", load_profile(Settings(embedding_model=str(path)), weights=False), trained
        )


# -- what must hold ----------------------------------------------------------------------------------------------------


def report_properties(model: Model, docs: Sequence[TaggedDoc]) -> None:
    """Print what holds for the chunks of all documents, and their sizes by type."""
    tokenizer = model.fresh()
    made = [(doc, chunk(doc, tokenizer)) for doc in docs]
    chunks = [item for _, items in made for item in items]
    counts = model.count([item.embedding_text for item in chunks])
    torn = [text for doc, items in made for text in torn_functions(doc.topic, items)]
    over = sum(size > 0.75 * tokenizer.window for size in model.count(torn))
    uncovered = [doc.topic.key for doc, items in made if lost(doc.topic, items, once=doc.doc_type == "api-reference")]
    shares = [item.overlap / item.tokens for item in chunks if item.overlap]
    print(f"== {model.name}: {len(chunks)} chunks, {sum(counts):,} tokens")
    print(f"within the window          {sum(size <= tokenizer.window for size in counts)} of {len(counts)}")
    print(f"counts exact               {sum(item.tokens == size for item, size in zip(chunks, counts, strict=True))}")
    print(f"fences balanced            {sum(fences_are_balanced(item.content) for item in chunks)}")
    print(f"functions not whole        {len(torn)}, of them larger than three quarters of the window {over}")
    print(f"documents covered          {len(made) - len(uncovered)} of {len(made)} {uncovered[:3] or ''}")
    print(f"with a header              {sum(bool(item.contextual_header) for item in chunks)}")
    if shares:
        print(f"prose overlap              median {statistics.median(shares):.1%} of {len(shares)} chunks that go on")
    report_sizes(made, tokenizer.window)


def report_sizes(made: Sequence[tuple[TaggedDoc, Sequence[Chunk]]], window: int) -> None:
    """Print a line a document type: target, quantiles, and why chunks are outside of the target."""
    reasons: dict[DocType, Counter[str]] = defaultdict(Counter)
    sizes: dict[DocType, list[int]] = defaultdict(list)
    for doc, items in made:
        for number, item in enumerate(items):
            reasons[doc.doc_type][reason(items, number, window)] += 1
            sizes[doc.doc_type].append(item.tokens)
    print(f"\n{'':20}{'target':>12}{'chunks':>8}{'10 %':>6}{'50 %':>6}{'90 %':>6}" + "".join(f"{each:>17}" for each in REASONS))
    for doc_type in (each for each in DOC_TYPES if sizes[each]):
        all_of = sorted(sizes[doc_type])
        low, high = target(doc_type, window)
        deciles = "".join(f"{all_of[min(len(all_of) - 1, int(len(all_of) * share))]:6}" for share in (0.1, 0.5, 0.9))
        shares = "".join(f"{f'{n} ({n / len(all_of):.0%})':>17}" for n in (reasons[doc_type][each] for each in REASONS))
        print(f"{doc_type:20}{f'{low}-{high}':>12}{len(all_of):8}{deciles}{shares}")
    print()


def target(doc_type: DocType, window: int) -> tuple[int, int]:
    """Return the target of a type; in a window that ends inside it, its lower end moves down with it."""
    low, high = TARGETS[doc_type]
    most = min(high, window)
    return (0 if doc_type == "example" else min(low, most * 3 // 4)), most


def reason(items: Sequence[Chunk], number: int, window: int) -> str:
    """Return why a chunk has its size."""
    item = items[number]
    low, high = target(item.doc_type, window)
    beside = [items[at].tokens - items[at].overlap for at in (number - 1, number + 1) if 0 <= at < len(items)]
    if low <= item.tokens <= high:
        return REASONS[0]
    if item.tokens > high:
        return "code as it is" if "```" in item.content else "other"
    if not beside:
        return "whole document"
    if item.kind == "javadoc":  # a member is never put together with another, nor the description of the class with one
        alone = sum(each.heading_path == item.heading_path for each in items) == 1
        return "whole member" if alone else "other"
    total = sum(each.tokens - each.overlap for each in items)
    if math.ceil(total / high) * low > total:
        return "indivisible"
    return "neighbours full" if item.tokens - item.overlap + min(beside) > high * 0.85 else "other"


# -- how fast ----------------------------------------------------------------------------------------------------------


class CountedCharacters:
    """A tokenizer that says how much it was asked for."""

    def __init__(self, inner: ModelTokenizer) -> None:
        self.name, self.window = inner.name, inner.window
        self._inner = inner
        self.characters = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.characters += sum(map(len, texts))
        return self._inner.count(texts)


def report_growth(model: Model) -> None:
    """Print what a table asks of the tokenizer as it grows to 800 kB."""
    print("a table of          characters   counted   a character   chunks")
    for rows in (1_000, 2_000, 4_000, 8_000):
        body = tuple(
            (f"row{row}", "what the row of this number means", "some more words, to fill a cell of it", f"{row * 7}")
            for row in range(rows)
        )
        block = Block("table", rows=(("Name", "Meaning", "Remarks", "Value"), *body), header_rows=1)
        doc = TaggedDoc(Topic("flare", "t.htm", "Rows", (block,)), (), (), "concept", "given")
        counting = CountedCharacters(model.fresh())
        made = chunk(doc, counting)
        size = len(block.text)
        print(f"{rows:6} rows        {size:12,}{counting.characters:12,}{counting.characters / size:12.2f}{len(made):9}")
    print()


def report_speed(model: Model, topics: Sequence[tuple[Topic, DocType]], docs: Sequence[TaggedDoc], runs: int) -> None:
    """Print CPU seconds of each way through the same texts, and how many times the bare tokenisation that is."""
    texts = [block.text for doc in docs for block in doc.topic.blocks]
    wholes = ["\n\n".join(block.text for block in doc.topic.blocks) for doc in docs]
    tokens = sum(model.count(texts))

    def chunked(given: Sequence[TaggedDoc]) -> None:
        tokenizer = model.fresh()
        for doc in given:
            chunk(doc, tokenizer)

    def split() -> None:
        splitter = semchunk.chunkerify(
            lambda text: len(model.bare.encode(text, add_special_tokens=False)), model.profile.window
        )
        for whole in wholes:
            splitter(whole)

    bare = best(lambda: model.count(texts), runs)
    print(f"== {model.name}: {tokens:,} tokens, best of {runs}, CPU seconds")
    print(f"the library alone, one batch    {bare:6.2f}         {tokens / bare:,.0f} tokens/s")
    ways: tuple[tuple[str, Callable[[], object]], ...] = (
        ("chunk", lambda: chunked(docs)),
        ("tag", lambda: [tag(topic, default_doc_type=default) for topic, default in topics]),
        ("tag and chunk", lambda: chunked([tag(topic, default_doc_type=default) for topic, default in topics])),
        ("semchunk, same tokenizer", split),
    )
    for name, way in ways:
        seconds = best(way, runs)
        print(f"{name:32}{seconds:6.2f}{seconds / bare:6.2f} x")
    print()


def best(work: Callable[[], object], runs: int) -> float:
    """Return the CPU seconds of the fastest of ``runs`` calls."""
    fastest = math.inf
    for _ in range(runs):
        start = time.process_time()
        work()
        fastest = min(fastest, time.process_time() - start)
    return fastest


if __name__ == "__main__":
    main()
