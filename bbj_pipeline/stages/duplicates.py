"""Near-duplicates: texts that share most of their word 5-shingles, as stars around the preferred copy.

MinHash and LSH find candidates, exact Jaccard confirms each. A copy is as close to its representative as the threshold says:
never a copy of a copy. Pure: texts are read twice from an iterator, and only those that collide are kept in memory.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHUNK_THRESHOLD", "MIN_WORDS", "PAGE_THRESHOLD", "Copy", "Unit", "find_copies", "shingle_batches", "shingles"]

SHINGLE = 5
"""Words of a shingle (Broder 1997; five is usual for prose): few enough to survive an edit, too many to agree by chance."""
MIN_WORDS = 12
"""Shorter texts are not compared: one word more or less would decide, and "Syntax: F()" is no copy of anything."""
CHUNK_THRESHOLD = 0.8
"""Jaccard from which a chunk is a copy: in 300 words, seven or so edits apart."""
PAGE_THRESHOLD = 0.7
"""Jaccard from which a page is a copy: two renderings of one page differ in what surrounds code, tables and tabs."""
PERMUTATIONS, BANDS = 128, 32
"""32 bands of 4 rows find a pair of Jaccard 0.7 with 1 - (1 - 0.7 ** 4) ** 32 = 0.9998, one of 0.5 with 0.87."""
MOST_CENTRES = 64
"""Representatives looked up in one bucket at most: a collision of more is not a copy but a form that many pages fill in."""
_SEED = 7
_BATCH = 2_000
_WORD = re.compile(r"\w+")
_MOST_KNOWN_WORDS = 1_000_000
_FACTORS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(SHINGLE)], dtype=np.uint64)
_MIX = np.uint64(0xFF51AFD7ED558CCD)

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Unit:
    """A text to compare: a chunk, a page, a section of a manual.

    ``order`` sorts units by preference, the best first. ``document`` is what it belongs to. ``subject`` are the names a page
    of a reference is about, empty for anything else: pages that describe different names in the same words are no copies.
    """

    id: str
    document: str
    text: str
    order: tuple[Any, ...]
    subject: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Copy:
    """A unit that is a near-duplicate of its representative, which is preferred to it and is itself no copy."""

    member: str
    representative: str
    jaccard: float


def find_copies(read: Callable[[], Iterable[Unit]], *, threshold: float, inside_documents: bool = True) -> list[Copy]:
    """Return the copies among the units, sorted by member.

    ``read`` is called twice and must give the same units in the same order. Units of one document are compared only with
    ``inside_documents``, and never those of a reference page. Time is linear in the text, also for one text with many copies;
    memory holds a sketch of 256 bytes a unit, and the shingles of those that share a bucket with another.
    """
    keys = _band_keys(read())
    shared = _shared(keys)
    candidates = _candidates(read(), shared)
    return _stars(candidates, keys, threshold, inside_documents=inside_documents)


def shingles(text: str) -> Hashes:
    """Return the distinct shingles of a text as sorted hashes, none for one below ``MIN_WORDS``."""
    ((hashes, _),) = shingle_batches([text], {})
    distinct: Hashes = np.unique(hashes)
    return distinct


def shingle_batches(texts: Iterable[str], known: dict[str, int]) -> Iterator[tuple[Hashes, NDArray[np.int64]]]:
    """Yield, for batches of texts, the hashes of all their shingles one text after another, and the offsets of the texts.

    Offsets have one entry more than the batch has texts. ``known`` remembers the hashes of words from batch to batch.
    """
    stream = iter(texts)
    while batch := list(islice(stream, _BATCH)):
        if len(known) > _MOST_KNOWN_WORDS:
            known.clear()
        words = [_WORD.findall(text.lower()) for text in batch]
        words = [found if len(found) >= MIN_WORDS else [] for found in words]
        counts = np.array([len(found) for found in words], dtype=np.int64)
        yield _shingled(_hashed([word for found in words for word in found], known), counts)


def _shingled(hashes: Hashes, counts: NDArray[np.int64]) -> tuple[Hashes, NDArray[np.int64]]:
    """Combine each word with the four after it; a shingle that reaches into the next text is dropped."""
    kept = np.maximum(counts - SHINGLE + 1, 0)
    offsets = np.concatenate(([0], np.cumsum(kept)))
    if len(hashes) < SHINGLE:
        return np.empty(0, dtype=np.uint64), offsets
    windows = len(hashes) - SHINGLE + 1
    combined = np.zeros(windows, dtype=np.uint64)
    for position, factor in enumerate(_FACTORS):
        combined += hashes[position : position + windows] * factor
    combined ^= combined >> np.uint64(32)
    combined *= _MIX
    combined ^= combined >> np.uint64(29)
    starts = np.cumsum(counts) - counts
    inside = np.arange(len(hashes)) - np.repeat(starts, counts)  # position of each word in its text
    return combined[(inside < np.repeat(kept, counts))[:windows]], offsets


def _hashed(words: list[str], known: dict[str, int]) -> Hashes:
    for word in set(words).difference(known):
        known[word] = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
    return np.fromiter(map(known.__getitem__, words), dtype=np.uint64, count=len(words))


def _band_keys(units: Iterable[Unit]) -> Hashes:
    """Return one key a unit and band, shape (n, ``BANDS``); two units with one key in one band are candidates."""
    from rensa import RMinHash  # a compiled library that only the reports need

    factors = np.array(
        [pow(0xC2B2AE3D27D4EB4F, power, 1 << 64) for power in range(1, PERMUTATIONS // BANDS + 1)], dtype=np.uint64
    )
    parts = []
    number = 0
    for hashes, offsets in shingle_batches((unit.text for unit in units), {}):
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets.astype(np.uint64), PERMUTATIONS, _SEED)
        rows = np.array(matrix.to_rows(), dtype=np.uint64).reshape(len(offsets) - 1, BANDS, PERMUTATIONS // BANDS)
        keys = (rows * factors).sum(axis=2, dtype=np.uint64)
        empty = offsets[1:] == offsets[:-1]
        # A text without shingles is like no other: a key of its own in each band.
        keys[empty] = (np.arange(number, number + len(keys), dtype=np.uint64)[:, None] * _MIX)[empty]
        number += len(keys)
        parts.append(keys)
    return np.concatenate(parts) if parts else np.empty((0, BANDS), dtype=np.uint64)


def _shared(keys: Hashes) -> NDArray[np.bool_]:
    """Tell of each unit whether it shares a bucket with another."""
    shared = np.zeros(len(keys), dtype=np.bool_)
    for band in range(keys.shape[1]):
        _, inverse, counts = np.unique(keys[:, band], return_inverse=True, return_counts=True)
        shared |= counts[inverse] > 1
    return shared


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A unit that may be a copy: its row of keys and its shingles in place of its text."""

    row: int
    unit: Unit
    shingles: Hashes


def _candidates(units: Iterable[Unit], shared: NDArray[np.bool_]) -> list[_Candidate]:
    wanted = ((row, unit) for row, unit in enumerate(units) if row < len(shared) and shared[row])
    known: dict[str, int] = {}
    found: list[_Candidate] = []
    while batch := list(islice(wanted, _BATCH)):
        for hashes, offsets in shingle_batches((unit.text for _, unit in batch), known):
            for position, (row, unit) in enumerate(batch):
                distinct = np.unique(hashes[offsets[position] : offsets[position + 1]])
                bare = Unit(unit.id, unit.document, "", unit.order, unit.subject)
                found.append(_Candidate(row, bare, distinct))
    return found


def _stars(candidates: list[_Candidate], keys: Hashes, threshold: float, *, inside_documents: bool) -> list[Copy]:
    """Take units by preference: each joins the closest representative that is close enough, or becomes one."""
    buckets: defaultdict[tuple[int, int], list[_Candidate]] = defaultdict(list)
    copies: list[Copy] = []
    for candidate in sorted(candidates, key=lambda item: (item.unit.order, item.unit.id)):
        places = list(enumerate(keys[candidate.row].tolist()))
        met: Counter[int] = Counter()
        centres: dict[int, _Candidate] = {}
        for place in places:
            for centre in buckets.get(place, ()):
                met[centre.row] += 1
                centres[centre.row] = centre
        best: tuple[float, _Candidate] | None = None
        for row, _ in met.most_common(MOST_CENTRES):
            centre = centres[row]
            if _comparable(candidate.unit, centre.unit, inside_documents=inside_documents):
                similarity = _jaccard(candidate.shingles, centre.shingles)
                if similarity >= threshold and (best is None or similarity > best[0]):
                    best = similarity, centre
        if best is not None:
            copies.append(Copy(candidate.unit.id, best[1].unit.id, round(best[0], 4)))
            continue
        for place in places:
            if len(buckets[place]) < MOST_CENTRES:
                buckets[place].append(candidate)
    return sorted(copies, key=lambda copy: copy.member)


def _comparable(one: Unit, other: Unit, *, inside_documents: bool) -> bool:
    if one.document == other.document and (not inside_documents or one.subject or other.subject):
        return False
    return not (one.subject and other.subject) or one.subject <= other.subject or other.subject <= one.subject


def _jaccard(one: Hashes, other: Hashes) -> float:
    """Return the share of common shingles in all; both are sorted and distinct."""
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common) if common else 0.0
