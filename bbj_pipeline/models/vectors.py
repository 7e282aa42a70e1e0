"""What every provider's vectors go through: the window is kept, lengths become 1, and what is no vector is marked or refused.

No model is known here, only its profile and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbj_pipeline.errors import ModelError
from bbj_pipeline.models.profile import ModelProfile
from bbj_pipeline.stages.contract import Vector, Vectors

__all__ = ["refuse_overlong", "unit_vectors", "usable_query_vector"]


def refuse_overlong(profile: ModelProfile, tokens: Sequence[int]) -> None:
    """Raise ``ModelError`` for the first text with more tokens than the model reads: the rest would be cut in silence."""
    for position, count in enumerate(tokens):
        if count > profile.window:
            raise ModelError(
                f"text {position} has {count} tokens, {profile.name} reads {profile.window}",
                remedy="chunk it with this model's tokenizer",
            )


def unit_vectors(vectors: Vectors) -> Vectors:
    """Return the rows scaled to length 1 in float32; a row that is not finite, or zero, becomes NaN as a whole."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    norms[~(np.isfinite(norms) & (norms > 0))] = np.nan
    unit: Vectors = (vectors / norms).astype(np.float32, copy=False)
    return unit


def usable_query_vector(profile: ModelProfile, vectors: Vectors) -> Vector:
    """Return the only row; raise ``ModelError`` when the model made nothing usable of the query."""
    vector: Vector = vectors[0]
    if not np.isfinite(vector).all():
        raise ModelError(
            f"{profile.name} returned an unusable vector for a query",
            remedy="check the model's files; a vector must be finite and not zero",
        )
    return vector
