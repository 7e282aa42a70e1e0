"""Near-duplicates among a generated corpus of chunks: seconds, their ratio to bare shingling of the same texts, and memory.

Run ``python -m benchmarks.duplicates --chunks 100000``, and again with ``--memory``. The corpus has unrelated texts, edited
copies, one boilerplate text in a thousand places, and a form that many pages fill in with a word of their own.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from collections.abc import Iterator

import numpy as np

from bbj_pipeline.stages.duplicates import CHUNK_THRESHOLD, Unit, find_copies, shingle_batches

_VOCABULARY = [f"{stem}{number}" for number in range(4_000) for stem in ("win", "open", "chan", "key", "list")]
_WORDS = 160


def corpus(chunks: int) -> Iterator[Unit]:
    """Chunks in a fixed order: of 100, 89 are of their own, 5 an edited copy of one of these, 1 boilerplate, 5 a form."""
    rng = np.random.default_rng(11)
    first = np.minimum(rng.zipf(1.3, size=(2, _WORDS)), len(_VOCABULARY)) - 1
    boilerplate = " ".join(_VOCABULARY[rank] for rank in first[0])
    form = [_VOCABULARY[(rank * 7) % len(_VOCABULARY)] for rank in first[1]]
    earlier: list[str] = []
    for number in range(chunks):
        part = number % 100
        if part == 0:
            ranks = np.minimum(rng.zipf(1.3, size=(100, _WORDS)), len(_VOCABULARY)) - 1
        if part < 89 or not earlier:
            words = [_VOCABULARY[rank] for rank in ranks[part]]
            if part < 5:
                earlier = [*earlier[-99:], " ".join(words)]
            text = " ".join(words)
        elif part < 94:
            text = earlier[-1 - (part - 89) % len(earlier)] + f" edited{number}"
        elif part == 94:
            text = boilerplate
        else:
            text = " ".join([*form[:-1], f"own{number}"])
        yield Unit(f"{number:08}", f"document {number // 8}", text, (number % 7, number))


def main() -> None:
    """Print the figures of one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--memory", action="store_true", help="stream the texts and print the growth of the peak memory only")
    arguments = parser.parse_args()
    chunks = arguments.chunks
    if arguments.memory:
        find_copies(lambda: corpus(2_000), threshold=CHUNK_THRESHOLD)  # what the libraries take once
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        find_copies(lambda: corpus(chunks), threshold=CHUNK_THRESHOLD)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"chunks {chunks:,}: peak memory grown by {grown:.0f} MiB beyond that of 2,000 chunks")
        return
    texts = list(corpus(chunks))  # generating is not what is measured
    started = time.perf_counter()
    total = sum(len(hashes) for hashes, _ in shingle_batches((unit.text for unit in texts), {}))
    bare = time.perf_counter() - started
    started = time.perf_counter()
    copies = find_copies(lambda: iter(texts), threshold=CHUNK_THRESHOLD)
    took = time.perf_counter() - started
    largest = max((len(list(group)) for _, group in itertools.groupby(sorted(c.representative for c in copies))), default=0)
    print(f"chunks {chunks:,}, shingles {total:,}, copies {len(copies):,}, largest star {largest:,}")
    print(f"bare shingling {bare:.1f} s, duplicates {took:.1f} s, ratio {took / bare:.2f}")


if __name__ == "__main__":
    main()
