"""What each stage of a search adds, on judged queries over the published corpora: which defaults to choose.

    python -m benchmarks.ablation [--queries FILE]

Reads the database of the settings, which ``bbj-pipeline run --config benchmarks/corpora.yaml`` filled. Documents are ranked by
their best chunk; negatives, which have no answer, are left out of the means and used for the confidence floor alone.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bbj_pipeline.models import load_embedder
from bbj_pipeline.retrieval import SearchConfig, Searcher, SearchHit
from bbj_pipeline.settings import load_settings
from bbj_pipeline.stages.contract import Embedder, Vector
from bbj_pipeline.storage.database import open_database

QUERIES = Path(__file__).resolve().parents[2] / "shared" / "eval" / "queries.jsonl"
LIMIT = 50
"""Chunks looked at; ten documents are among them almost always."""
BARE = SearchConfig(target_weight=0, preference_weight=0, phrase_bonus=0, identifier_bonus=0, per_document=LIMIT, kind_share=1)
"""The fusion and nothing after it."""


class Remembering:
    """An embedder that embeds each query once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}
        self.fingerprint, self.dimension = embedder.fingerprint, embedder.dimension

    def embed_query(self, text: str) -> Vector:
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return self._embedder.embed_documents(texts)


def apart(chunks: Sequence[Any]) -> Mapping[str, str]:
    """No chunk is a copy of another: judgments name every copy."""
    return {}


def documents(hits: Iterable[SearchHit]) -> list[tuple[str, str, str]]:
    """Documents in the order of their best chunk."""
    return list(dict.fromkeys((hit.chunk.kind, hit.chunk.instance, hit.chunk.key) for hit in hits))


def metrics(ranked: Sequence[tuple[str, str, str]], grades: Mapping[tuple[str, str, str], int]) -> tuple[float, ...]:
    """nDCG@10 (gain = grade), reciprocal rank in the first ten, recall@5, recall@10."""
    first = ranked[:10]
    gain = sum(grades.get(document, 0) / math.log2(place + 2) for place, document in enumerate(first))
    best = sum(grade / math.log2(place + 2) for place, grade in enumerate(sorted(grades.values(), reverse=True)[:10]))
    reciprocal = next((1 / (place + 1) for place, document in enumerate(first) if document in grades), 0.0)
    recalls = (len(grades.keys() & set(ranked[:cut])) / len(grades) for cut in (5, 10))
    return gain / best, reciprocal, *recalls


def rows(full: SearchConfig) -> Iterable[tuple[str, SearchConfig, bool]]:
    """Name, configuration, and whether the query's generation hint is given."""
    yield "dense alone", replace(BARE, lexical_weight=0), False
    yield "lexical alone", replace(BARE, dense_weight=0), False
    for candidates in (20, 50, 100, 200):
        for dense in (0.7, 0.6, 0.5, 0.4, 0.3):
            sized = replace(BARE, dense_candidates=candidates, lexical_candidates=candidates)
            name = f"fused {dense:.1f} / {1 - dense:.1f}, {candidates} a leg"
            yield name, replace(sized, dense_weight=dense, lexical_weight=round(1 - dense, 1)), False
    yield "default, no bonus, no generations, no balance", BARE, False
    yield "+ phrase bonus", replace(BARE, phrase_bonus=full.phrase_bonus), False
    yield "+ identifier bonus", replace(BARE, identifier_bonus=full.identifier_bonus), False
    worded = replace(BARE, phrase_bonus=full.phrase_bonus, identifier_bonus=full.identifier_bonus)
    yield "+ both", worded, False
    preferring = replace(worded, preference_weight=full.preference_weight, target_weight=full.target_weight)
    yield "+ both, generations without hints", preferring, False
    yield "+ both, generations with hints", preferring, True
    yield "+ balance (the defaults)", full, True


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=Path, default=QUERIES)
    asked = parser.parse_args()
    queries = [json.loads(line) for line in asked.queries.read_text(encoding="utf-8").splitlines() if line.strip()]
    settings = load_settings()
    with open_database(settings) as database:
        embedder = Remembering(load_embedder(settings))
        print("| | nDCG@10 | MRR@10 | recall@5 | recall@10 |\n|---|---|---|---|---|")
        for name, config, hinted in rows(SearchConfig()):
            searcher = Searcher(database, embedder, config, groups=apart)
            found = []
            for item in queries:
                if not item["relevant"]:
                    continue
                hint = item["generation"] if hinted else None
                # More hits than candidates would make the legs look for more.
                hits = searcher.search(item["query"], generation=hint, limit=min(LIMIT, config.dense_candidates)).hits
                grades = {(entry["kind"], entry["instance"], entry["key"]): entry["grade"] for entry in item["relevant"]}
                found.append(metrics(documents(hits), grades))
            print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in np.mean(found, axis=0)) + " |", flush=True)
        searcher = Searcher(database, embedder)
        answered: dict[bool, list[bool]] = {True: [], False: []}
        for item in queries:
            hits = searcher.search(item["query"], generation=item["generation"], confident=True).hits
            answered[bool(item["relevant"])].append(bool(hits))
        for answerable, results in answered.items():
            kind = "answerable" if answerable else "negative"
            print(f"confident search: {sum(results)} of {len(results)} {kind} queries answered")


if __name__ == "__main__":
    main()
