"""What a cross-encoder costs and what it adds to the order of a search, over what is published.

No reranker comes with the package index, so one is trained here, in minutes: the offline model's weights with a new head learn
which section stands under which of the corpus's own headings, against the passages that search finds for the heading. No judged
query is seen. It tells what the stage can do with a small model of this corpus, not what a published reranker would do.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bbj_pipeline.evaluation import Answer, JudgedSet, load_judged
from bbj_pipeline.evaluation.ablations import ablation, ablation_lines, answers_of, search_ablations
from bbj_pipeline.evaluation.running import EmbedOnce
from bbj_pipeline.models import load_embedder, load_profile
from bbj_pipeline.models.cross_encoder import BATCH, CrossEncoderReranker
from bbj_pipeline.retrieval import SearchConfig, Searcher
from bbj_pipeline.settings import Settings, load_settings
from bbj_pipeline.storage.database import Database, open_database

TRAINED_TOKENS = 128
"""Window while training; while scoring it is the model's own."""
NEGATIVES = 3
LEARNING_RATE = 5e-5
SEED = 7


@dataclass(frozen=True, slots=True)
class Section:
    document: tuple[str, str]
    heading: str
    header: str
    content: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """A heading, its section, and passages of other documents that search finds for it."""

    heading: str
    right: Section
    wrong: tuple[Section, ...]


class Remembering:
    """A reranker that scores a pair once, for asking the same queries under several configurations."""

    def __init__(self, reranker: CrossEncoderReranker) -> None:
        self._reranker = reranker
        self._known: dict[tuple[str, str], float] = {}
        self.name = reranker.name

    def warm(self) -> None:
        self._reranker.warm()

    def score(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float]:
        new = [text for text in dict.fromkeys(passages) if (query, text) not in self._known]
        found = self._reranker.score(query, new, seconds=math.inf)
        assert found is not None
        self._known.update({(query, text): score for text, score in zip(new, found, strict=True)})
        return [self._known[query, text] for text in passages]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judged", type=Path, help="judged queries other than the configured ones")
    parser.add_argument("--lessons", type=int, default=1500)
    parser.add_argument("--candidates", type=int, nargs="*", default=[20])
    parser.add_argument("--model", type=Path, help="folder the trained model is kept in, or is taken from when it is there")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    settings = load_settings()
    judged = load_judged(options.judged or settings.judged)
    with tempfile.TemporaryDirectory() as folder, open_database(settings) as database:
        embedder = EmbedOnce(load_embedder(settings))
        place = options.model or Path(folder) / "trained"
        if not (place / "config.json").exists():
            train(place, settings, list(lessons(database, embedder, options.lessons)))
        reranker = CrossEncoderReranker("trained", place)
        searcher = Searcher(database, embedder, SearchConfig.from_settings(settings))
        cost("trained here", reranker, searcher, judged, options.rounds)
        cost("bge-reranker-base's shape", untrained(Path(folder) / "base", settings), searcher, judged, 1)
        worth(database, embedder, SearchConfig.from_settings(settings), judged, Remembering(reranker), options.candidates)


def lessons(database: Database, embedder: EmbedOnce, count: int) -> Iterator[Lesson]:
    """Yield headings with their sections and hard negatives, as many of each kind as there are, up to an equal share."""
    with database.connection() as connection:
        rows = connection.execute(
            "select source, doc_key, title, heading_path, contextual_header, content, kind from doc_chunks order by id"
        ).fetchall()
    places = Counter(path[-1].casefold() for _, _, _, path, *_ in rows if path)
    pools: dict[str, list[Section]] = {}
    for source, key, title, path, header, content, kind in rows:
        heading = path[-1] if path else title
        if places[heading.casefold()] > 2 and heading != title:
            heading = f"{title} {heading}"  # "Example" says nothing by itself
        if len(heading.split()) >= 2 and len(content) >= 80:
            pools.setdefault(kind, []).append(Section((source, key), heading, header, content))
    chance = random.Random(SEED)
    share = math.ceil(count / len(pools))
    chosen = [section for pool in pools.values() for section in chance.sample(pool, min(share, len(pool)))]
    chance.shuffle(chosen)
    print(f"{len(chosen)} headings of {len(pools)} kinds", flush=True)
    searcher = Searcher(database, embedder)
    for section in chosen:
        hits = [hit.chunk for hit in searcher.search(section.heading, limit=20).hits]
        wrong = [
            Section((f"{chunk.kind}/{chunk.instance}", chunk.key), chunk.title, chunk.contextual_header, chunk.content)
            for chunk in hits
            if (f"{chunk.kind}/{chunk.instance}", chunk.key) != section.document and chunk.content != section.content
        ]
        if len(wrong) >= NEGATIVES:
            yield Lesson(section.heading, section, tuple(chance.sample(wrong, NEGATIVES)))


def train(place: Path, settings: Settings, taught: Sequence[Lesson]) -> None:
    """Train one epoch: of a heading's section and its negatives, the section has to have the highest logit."""
    from sentence_transformers import CrossEncoder

    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    encoder = CrossEncoder(str(load_profile(settings, weights=True).folder), num_labels=1, max_length=512)
    model, tokenizer = encoder.model, encoder.tokenizer
    model.base_model.embeddings.requires_grad_(False)  # half of all numbers, and few words are seen often enough to move theirs
    model.train()
    trained = [item for item in model.parameters() if item.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=LEARNING_RATE, weight_decay=0.01)
    together = 4
    steps = math.ceil(len(taught) / together)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / (0.1 * steps), 1 - step / steps))
    started, losses = time.perf_counter(), []
    for step in range(steps):
        batch = taught[step * together : (step + 1) * together]
        pairs = [pair for lesson in batch for pair in _pairs(lesson, headed=chance.random() < 0.5)]
        inputs = tokenizer(
            [heading for heading, _ in pairs], [text for _, text in pairs], truncation="only_second",
            max_length=TRAINED_TOKENS, padding=True, return_tensors="pt",
        )  # fmt: skip
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(**inputs).logits.view(len(batch), 1 + NEGATIVES)
        loss = torch.nn.functional.cross_entropy(logits.float(), torch.zeros(len(batch), dtype=torch.long))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if (step + 1) % 100 == 0:
            print(f"step {step + 1}/{steps}, loss {statistics.mean(losses[-100:]):.3f}", flush=True)
    encoder.save_pretrained(str(place))
    print(f"trained on {len(taught)} headings in {time.perf_counter() - started:.0f} s")


def _pairs(lesson: Lesson, *, headed: bool) -> list[tuple[str, str]]:
    """Return the pairs, the right one first; half of the time without headers, or the heading itself would be the answer."""
    sections = (lesson.right, *lesson.wrong)
    return [(lesson.heading, f"{item.header}\n\n{item.content}" if headed else item.content) for item in sections]


def untrained(place: Path, settings: Settings) -> CrossEncoderReranker:
    """Make a model of bge-reranker-base's layers: what it says is noise, how long it takes is not."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(load_profile(settings, weights=True).folder, model_max_length=512)
    tokenizer.save_pretrained(place)
    config = BertConfig(vocab_size=len(tokenizer), num_labels=1)  # 12 layers, 768 numbers, 3072 within
    BertForSequenceClassification(config).save_pretrained(place)
    return CrossEncoderReranker("base", place)


def cost(name: str, reranker: CrossEncoderReranker, searcher: Searcher, judged: JudgedSet, rounds: int) -> None:
    """Print seconds of 20 candidates, and the share of them that the bare multiplications need at this machine's speed.

    The share is taken on one thread and in processor time, which other work on the machine hardly changes.
    """
    reranker.warm()
    config, threads = reranker._model.model.config, torch.get_num_threads()
    seconds, alone, shares = [], [], []
    for query in judged.queries[: 8 * rounds : 8]:
        passages = [hit.chunk.text for hit in searcher.search(query.text, limit=20).hits]
        score = partial(reranker.score, query.text, passages, seconds=math.inf)
        seconds.append(_seconds(score, time.perf_counter))
        torch.set_num_threads(1)
        speed = gemm(config, reranker.dtype)
        alone.append(_seconds(score, time.process_time))
        torch.set_num_threads(threads)
        shares.append(flops(config, padded(reranker, query.text, passages)) / speed / alone[-1])
    model = f"{name} ({config.num_hidden_layers} x {config.hidden_size}, {reranker.dtype})"
    print(
        f"{model}, 20 candidates, median of {len(seconds)} questions: {statistics.median(seconds):.2f} s on {threads} threads; "
        f"{statistics.median(alone):.2f} processor seconds on one, of which the multiplications alone need "
        f"{100 * statistics.median(shares):.0f} % ({speed / 1e9:.0f} GFLOP/s)",
        flush=True,
    )


def padded(reranker: CrossEncoderReranker, query: str, passages: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs and padded tokens of each batch."""
    tokenizer = reranker._model.tokenizer
    texts = sorted(passages, key=len, reverse=True)
    shapes = []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        tokens = tokenizer([query] * len(batch), batch, truncation="only_second", max_length=reranker.window)["input_ids"]
        shapes.append((len(batch), max(map(len, tokens))))
    return shapes


def flops(config: Any, shapes: Sequence[tuple[int, int]]) -> float:
    """Return two operations for each multiplication of the layers: projections, the two within, and attention itself."""
    hidden, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    return sum(
        layers * pairs * (tokens * (8 * hidden**2 + 4 * hidden * inner) + 4 * tokens**2 * hidden) for pairs, tokens in shapes
    )


def gemm(config: Any, dtype: str) -> float:
    """Return the operations a second of the model's own largest multiplication, the best of several tries."""
    rows, hidden, inner = 4 * 384, config.hidden_size, config.intermediate_size
    left, right = (torch.randn(shape, dtype=getattr(torch, dtype)) for shape in ((rows, hidden), (hidden, inner)))
    weights = right.t().contiguous()  # as a linear layer holds them
    with torch.inference_mode():
        best = min(_seconds(lambda: torch.nn.functional.linear(left, weights), time.process_time) for _ in range(30))
    return 2 * rows * hidden * inner / best


def worth(
    database: Database,
    embedder: EmbedOnce,
    config: SearchConfig,
    judged: JudgedSet,
    reranker: Remembering,
    candidates: Sequence[int],
) -> None:
    """Print what the order of the reranker adds or costs, with paired intervals."""
    baseline: list[Answer] = answers_of(database, embedder, config, judged)
    rows = [next(iter(search_ablations(database, embedder, config, judged, baseline)))]
    for count in candidates:
        sized = replace(config, rerank_candidates=count, rerank_seconds=math.inf)
        answers = answers_of(database, embedder, sized, judged, reranker=reranker)
        rows.append(ablation(f"reranked, {count} candidates", answers, baseline, floor=config.confidence_floor))
    print("\n".join(ablation_lines(rows)), flush=True)


def _seconds(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    started = clock()
    work()
    return clock() - started


if __name__ == "__main__":
    main()
