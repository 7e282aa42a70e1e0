"""Runs a sentence-transformers model: texts in, unit vectors out, with the fingerprint of the space they live in.

torch and sentence-transformers are imported when the weights are loaded, because everything else must start without them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bbj_pipeline.errors import ModelError
from bbj_pipeline.models.profile import ModelProfile
from bbj_pipeline.models.runtime import best_dtype, load_weights, one_core_spared
from bbj_pipeline.models.tokenizer import ModelTokenizer
from bbj_pipeline.models.vectors import refuse_overlong, unit_vectors, usable_query_vector
from bbj_pipeline.stages.contract import Vector, Vectors

__all__ = ["SentenceTransformerEmbedder"]

_CPU_BATCH = 8
"""Texts in one forward pass on a CPU, whatever the call's size: more only fall out of the processor's cache. Measured with
all-MiniLM-L6-v2 in bfloat16 on two cores: 50 texts/s by 8, 39 by 16, 37 by 32, 34 by 64."""


class SentenceTransformerEmbedder:
    """One model; see ``stages.contract.Embedder``. Its weights are loaded when the first text comes.

    What it is called and how long its vectors are is known from its files alone, so a run in which nothing changed never
    loads it. Vectors are normalised here in float32 whatever the model does, since a bfloat16 vector's own norm is off by
    0.4 %. A lock serialises calls: the fast tokenizer refuses two threads at once, and the model uses all cores for one call
    anyway.
    """

    def __init__(self, profile: ModelProfile, *, batch: int, dtype: str | None = None) -> None:
        self._profile = profile
        self._tokenizer = ModelTokenizer(profile)
        self._wanted_dtype = dtype
        self._wanted_batch = batch
        self._lock = threading.RLock()

    @cached_property
    def fingerprint(self) -> str:
        """Digest of provider, model, revision, pooling, prompts, window, normalisation and dimension.

        The number format is not part of it: cosines between bfloat16 and float32 vectors of one text are above 0.999, and a
        server without bfloat16 has to find what a machine with it embedded.
        """
        return self._profile.fingerprint(provider="sentence-transformers", revision=self._profile.revision())

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._profile.dimension

    @cached_property
    def dtype(self) -> str:
        """Number format of the weights: ``bfloat16`` or ``float32``."""
        return self._wanted_dtype or best_dtype()

    @cached_property
    def _model(self) -> Any:
        model = _load_model(self._profile, self.dtype)
        found = model.get_embedding_dimension()
        if found != self.dimension:
            raise ModelError(
                f"{self._profile.name} gives vectors of {found} numbers, its files say {self.dimension}",
                remedy="install the model again",
            )
        return model

    @property
    def _batch(self) -> int:
        return self._wanted_batch if self._model.device.type != "cpu" else min(self._wanted_batch, _CPU_BATCH)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of shape (len(texts), dimension) and length 1, NaN for a vector that is none.

        Raises ``ModelError`` for a text over the window, which the model would cut silently.
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        refuse_overlong(self._profile, self._tokenizer.count(texts))
        return unit_vectors(self._encode(texts, self._profile.document_prompt))

    def embed_query(self, text: str) -> Vector:
        """Return the query's float32 vector of shape (dimension,) and length 1; a query over the window is cut to it."""
        with self._lock, one_core_spared():
            vectors = self._encode([text], self._profile.query_prompt)
        return usable_query_vector(self._profile, unit_vectors(vectors))

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        with self._lock:
            vectors = self._model.encode(
                list(texts), prompt=prompt or None, batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True
            )
        return np.asarray(vectors, dtype=np.float32)


def _load_model(profile: ModelProfile, dtype: str) -> Any:
    def load(torch: Any, library: Any) -> Any:
        return library.SentenceTransformer(
            str(profile.folder), local_files_only=True, model_kwargs={"dtype": getattr(torch, dtype)}, trust_remote_code=False
        )

    model = load_weights(profile.folder, "BBJ_EMBEDDING_MODEL", load)
    model.max_seq_length = profile.window
    return model.eval()
