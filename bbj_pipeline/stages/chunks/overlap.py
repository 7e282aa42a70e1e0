"""Prose overlap: a chunk that goes on from the one before begins with the end of it, 10 to 15 % of its tokens.

Cut at sentence boundaries; only where no sentence boundary lies in that band, between words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bbj_pipeline.stages.chunks.partition import OVERLAP_MAX, OVERLAP_MIN, Draft
from bbj_pipeline.stages.chunks.pieces import PROSE_KINDS, Counter, Piece
from bbj_pipeline.stages.chunks.splitting import sentences

__all__ = ["Overlap", "find_overlaps"]

Overlap = Piece | None
_TARGET = (OVERLAP_MIN + OVERLAP_MAX) / 2


def find_overlaps(drafts: Sequence[Draft], sizes: Sequence[int], high: int, counter: Counter) -> list[Overlap]:
    """Return for each draft the piece it repeats from the draft before, or ``None``.

    ``sizes`` are the drafts' exact tokens without overlap, ``high`` is what no prose chunk may exceed. A chunk so small that
    no whole number of tokens is 10 to 15 % of it has no overlap.
    """
    tails = [_tail(drafts, number, sizes[number]) for number in range(len(drafts))]
    flat = [sentence for tail in tails for _, sentence in tail]
    counts = iter(counter.count(flat))
    overlaps: list[Overlap] = []
    for draft, size, tail in zip(drafts, sizes, tails, strict=True):
        counted = [(piece, sentence, next(counts)) for piece, sentence in tail]
        overlaps.append(_choose(counted, size, min(high - size, _share(size, OVERLAP_MAX)), draft, counter))
    return overlaps


def _share(size: int, part: float) -> int:
    """Return how many tokens added to ``size`` are ``part`` of the sum."""
    return int(size * part / (1 - part))


def _tail(drafts: Sequence[Draft], number: int, size: int) -> list[tuple[Piece, str]]:
    """Return the last prose sentences of the draft before, enough for an overlap, when prose goes on in this draft."""
    if number == 0:
        return []
    own = next((piece for piece in drafts[number].pieces if piece.kind != "heading"), None)
    before = drafts[number - 1].pieces
    last = before[-1]
    if own is None or own.section != last.section or own.kind not in PROSE_KINDS:
        return []
    tail: list[tuple[Piece, str]] = []
    words = 0
    for piece in reversed(before):
        if piece.kind not in PROSE_KINDS or piece.section != own.section or words > size:
            break
        text = piece.text.replace("\n> ", "\n").removeprefix("> ") if piece.kind == "note" else piece.text
        found = sentences(text)
        tail = [(piece, sentence) for sentence in found] + tail
        words += len(text.split())
    return tail


def _choose(tail: Sequence[tuple[Piece, str, int]], size: int, most: int, draft: Draft, counter: Counter) -> Overlap:
    """Return the last sentences of ``tail`` that make the share, by their tokens at least and with every joint at most."""
    if not tail or most <= 0:
        return None
    least = _share(size, OVERLAP_MIN) + 1
    kept: list[tuple[Piece, str]] = []
    used = 0
    for piece, sentence, tokens in reversed(tail):
        joints = counter.joint * (len(kept) + 1)
        if used + tokens + joints > most:
            if used < least:
                words, count = _last_words(sentence, min(max(least, _share(size, _TARGET)), most - joints) - used, counter)
                if words:
                    kept.insert(0, (piece, words))
                    used += count
            break
        kept.insert(0, (piece, sentence))
        used += tokens
        if used >= least:
            break
    # the chunk before ends in less prose than that, or in signs alone: nothing to share
    if used < least or not any(char.isalnum() for _, text in kept for char in text):
        return None
    return _as_piece(kept, used, draft)


def _last_words(sentence: str, room: int, counter: Counter) -> tuple[str, int]:
    """Return the end of a sentence in at most ``room`` tokens, marked as cut."""
    words = sentence.split()
    counts = counter.count(["…", *(f" {word}" for word in words)])  # the space is a token, or part of one, for some models
    used = counts[0]
    first = len(words)
    while first > 0 and used + counts[first] <= room:
        first -= 1
        used += counts[first + 1]
    return ("… " + " ".join(words[first:]), used) if first < len(words) else ("", 0)


def _as_piece(kept: Sequence[tuple[Piece, str]], tokens: int, draft: Draft) -> Piece:
    text = ""
    before: Piece | None = None
    for piece, sentence in kept:
        if before is not None:
            both_items = piece.kind == before.kind == "list_item"
            text += " " if piece.block == before.block else "\n" if both_items else "\n\n"
        text += sentence
        before = piece
    own = next(piece for piece in draft.pieces if piece.kind != "heading")
    last = kept[-1][0]
    # The overlap joins what follows as its own last piece would: on the same line inside a paragraph.
    return replace(last, text=text, tokens=tokens, kind="paragraph" if last.kind == "note" else last.kind, section=own.section)
