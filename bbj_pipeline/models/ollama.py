"""Runs an embedding model in an Ollama server: texts in, unit vectors out, with the fingerprint of the space they live in.

Ollama cuts an overlong text in silence and answers a batch with one bad vector by an error; so tokens are counted here with the
model's own tokenizer, truncation is switched off, and a refused batch is halved. What the model is (tokenizer, prompts, window,
dimension) comes from its profile, whose folder needs no weights.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import requests

from bbj_pipeline.errors import ModelError, ModelUnavailable
from bbj_pipeline.models.profile import ModelProfile
from bbj_pipeline.models.tokenizer import ModelTokenizer
from bbj_pipeline.models.vectors import refuse_overlong, unit_vectors, usable_query_vector
from bbj_pipeline.stages.contract import Vector, Vectors

__all__ = ["OllamaEmbedder"]

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 600.0
"""A first request loads the model, which may be gigabytes."""
_MAX_ANSWER = 256 * 1024 * 1024
"""Bytes of an answer at most: 4,096 vectors of 4,096 numbers in JSON stay below it."""
_SPECIAL_TOKENS = 4
"""Tokens a text by which Ollama's count may stay below ours: it may add no start, end or separator of its own."""


class OllamaEmbedder:
    """One model of one server; see ``stages.contract.Embedder``. The server is asked when something is needed of it."""

    def __init__(self, profile: ModelProfile, *, model: str, url: str) -> None:
        self._profile = profile
        self._tokenizer = ModelTokenizer(profile)
        self._model = model
        self._url = url.rstrip("/")
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy of the environment has no business between us and a local server

    @cached_property
    def fingerprint(self) -> str:
        """Digest of provider, model, the served weights' own digest, pooling, prompts, window, normalisation and dimension.

        Raises ``ModelError`` when the server does not have the model, ``ModelUnavailable`` when it does not answer.
        """
        return self._profile.fingerprint(provider="ollama", revision=f"{self._model}@{self._digest()}")

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._profile.dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of shape (len(texts), dimension) and length 1, NaN for a vector that is none.

        Raises ``ModelError`` for a text over the window or an answer of another shape, ``ModelUnavailable`` when the server
        does not answer.
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        tokens = self._tokenizer.count(texts)
        refuse_overlong(self._profile, tokens)
        return unit_vectors(self._embed([self._profile.document_prompt + text for text in texts], tokens))

    def embed_query(self, text: str) -> Vector:
        """Return the query's float32 vector of shape (dimension,) and length 1; a query over the window is cut to it."""
        prompted = self._tokenizer.cut(self._profile.query_prompt + text)
        return usable_query_vector(self._profile, unit_vectors(self._embed([prompted], None)))

    def _embed(self, texts: list[str], tokens: Sequence[int] | None) -> Vectors:
        """Return the server's vectors; a batch that it cannot answer is halved, and a text that it cannot answer is NaN."""
        answer = self._ask(
            "POST",
            "/api/embed",
            {"model": self._model, "input": texts, "truncate": False, "options": {"num_ctx": self._profile.window}},
        )
        if isinstance(answer, _Refused):
            if not answer.unusable:
                raise ModelError(f"Ollama refused to embed: {answer.reason}", remedy=f"try: ollama run {self._model}")
            if len(texts) == 1:
                return np.full((1, self.dimension), np.nan, dtype=np.float32)
            middle = len(texts) // 2
            halves = ((texts[:middle], tokens and tokens[:middle]), (texts[middle:], tokens and tokens[middle:]))
            return np.concatenate([self._embed(part, counts) for part, counts in halves])
        self._refuse_truncation(answer, tokens)
        try:
            vectors = np.array(answer.get("embeddings"), dtype=np.float32)
        except (TypeError, ValueError):  # null in place of a number, rows of different lengths
            vectors = np.empty((0, 0), dtype=np.float32)
        if vectors.shape != (len(texts), self.dimension):
            raise ModelError(
                f"Ollama's {self._model} returned vectors of shape {vectors.shape}, ({len(texts)}, {self.dimension}) expected",
                remedy="set BBJ_EMBEDDING_MODEL to the model that BBJ_OLLAMA_MODEL serves",
            )
        return vectors

    def _refuse_truncation(self, answer: dict[str, Any], tokens: Sequence[int] | None) -> None:
        """Compare the server's own count of tokens with ours: what it did not read is not in the vector."""
        read = answer.get("prompt_eval_count")
        if tokens is None or not isinstance(read, int) or read == 0:
            return
        if read < sum(tokens) - _SPECIAL_TOKENS * len(tokens):
            raise ModelError(
                f"Ollama's {self._model} read {read} of {sum(tokens)} tokens",
                remedy="update Ollama, or set BBJ_EMBEDDING_MODEL to the model whose tokenizer this one uses",
            )

    def _digest(self) -> str:
        answer = self._ask("GET", "/api/tags", None)
        listed = answer.get("models") if isinstance(answer, dict) else None
        names = (self._model, f"{self._model}:latest")
        for item in listed if isinstance(listed, list) else []:
            if isinstance(item, dict) and item.get("name") in names and item.get("digest"):
                return str(item["digest"])
        raise ModelError(f"Ollama at {self._url} has no model {self._model!r}", remedy=f"run: ollama pull {self._model}")

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any] | _Refused:
        try:
            with self._session.request(
                method,
                self._url + path,
                json=body,
                timeout=(_CONNECT_SECONDS, _READ_SECONDS),
                allow_redirects=False,
                stream=True,
            ) as response:
                content = response.raw.read(_MAX_ANSWER + 1, decode_content=True)
                status = response.status_code
        except (requests.RequestException, OSError) as error:
            raise ModelUnavailable(
                f"no answer from Ollama at {self._url} ({type(error).__name__})",
                remedy="start it (ollama serve), or correct BBJ_OLLAMA_URL",
            ) from None
        if len(content) > _MAX_ANSWER:
            raise ModelError(
                f"Ollama at {self._url} answered more than {_MAX_ANSWER} bytes", remedy="lower BBJ_EMBEDDING_BATCH"
            )
        return _parsed(status, content)


class _Refused:
    """An error answer; ``unusable`` when it says that a vector was not a number (JSON cannot carry NaN)."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.unusable = "nan" in reason.lower() or "unsupported value" in reason.lower()


def _parsed(status: int, content: bytes) -> dict[str, Any] | _Refused:
    try:
        value = json.loads(content)
    except ValueError:
        value = {"error": content[:200].decode("utf-8", "replace")}
    if not isinstance(value, dict):
        value = {"error": "the answer is not an object"}
    if status == 503:
        raise ModelUnavailable("Ollama is overloaded", remedy="wait, or raise its OLLAMA_MAX_QUEUE")
    if status != 200 or "error" in value:
        return _Refused(f"{status} {value.get('error', '')}".strip())
    return value
