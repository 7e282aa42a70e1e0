"""Edit distance between identifiers, and how far apart two may be to be taken for one. Pure."""

from __future__ import annotations

__all__ = ["SHORTEST", "edit_distance", "tolerated"]

SHORTEST = 5
"""Letters below which nothing is corrected: every short name is near another one."""
LONG = 8


def tolerated(word: str) -> int:
    """Return how many edits a misspelt ``word`` is forgiven: none when short, two from eight letters on."""
    return 0 if len(word) < SHORTEST else 1 if len(word) < LONG else 2


def edit_distance(left: str, right: str, most: int) -> int:
    """Return how many letters must be inserted, deleted, replaced or swapped with their neighbour; ``most`` + 1 when more.

    The optimal string alignment distance (Damerau; no letter is edited twice).
    """
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        above, row = row, [i]
        for j, other in enumerate(right, start=1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = above
    return min(row[-1], most + 1)
