"""Runs a cross-encoder: a question and passages in, one raw logit a passage out, or nothing when its time is up.

What the logits do to an order is decided in ``retrieval``. torch and sentence-transformers are imported when the weights are
loaded, because everything else must start without them.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from bbj_pipeline.errors import ModelError
from bbj_pipeline.models.profile import files_digest
from bbj_pipeline.models.runtime import best_dtype, load_weights

__all__ = ["CrossEncoderReranker"]

BATCH = 4
"""Pairs in one forward pass, and so how often the clock is looked at. Bigger ones pad more and are no faster on a CPU."""
_SETTING = "BBJ_RERANKER_MODEL"
_REMEDY = f"set {_SETTING} to a cross-encoder, or to 'off'"
_SANE_WINDOW = 1_000_000
"""Tokenizer configurations write 1e30 for "no limit"; a larger number than this says nothing."""
_RESERVED_POSITIONS = 2
"""RoBERTa's family counts positions from 2, so two of those its configuration names cannot be used."""
_QUESTION_SHARE = 0.5
"""Of the window, at most, for the question: it is kept whole, but a passage must be left to be read."""


class CrossEncoderReranker:
    """One cross-encoder with a single label, a ``retrieval.Reranker``; its weights are loaded by ``warm`` or the first score.

    Logits stay raw and are float32 at the end: a sigmoid in bfloat16 makes all good passages equal. A lock serialises calls, as
    the fast tokenizer refuses two threads at once and the model uses all cores for one call anyway; waiting for it counts
    as time. ``dtype`` is for comparisons; by itself it is what the hardware computes in.
    """

    def __init__(self, name: str, folder: Path, *, dtype: str | None = None) -> None:
        self._short = name
        self._folder = folder
        self._wanted_dtype = dtype
        self._config = _config(folder)
        self._lock = threading.Lock()
        self._loading = threading.Lock()

    @cached_property
    def name(self) -> str:
        """The model's name and the beginning of its files' digest."""
        return f"{self._short}@{files_digest(self._folder)[:12]}"

    @cached_property
    def dtype(self) -> str:
        """Number format of the weights: ``bfloat16`` or ``float32``."""
        return self._wanted_dtype or best_dtype()

    @cached_property
    def window(self) -> int:
        """Tokens of question and passage together that the model reads at most, special ones included."""
        stated = _read(self._folder / "tokenizer_config.json").get("model_max_length")
        positions = self._config.get("max_position_embeddings")
        usable = positions - _RESERVED_POSITIONS if isinstance(positions, int) else None
        if isinstance(stated, int) and 0 < stated < _SANE_WINDOW:
            return stated if not isinstance(positions, int) else min(stated, positions)
        if usable is None:
            raise ModelError(f"{self._folder} does not say how many tokens it reads", remedy=_REMEDY)
        return usable

    def warm(self) -> None:
        """Load the weights and score a pair; raises ``ModelError`` when the model cannot be used."""
        score = self.score("warm", ["up"], seconds=math.inf)
        if score is None or not math.isfinite(score[0]):
            raise ModelError(f"{self._short} gave a score that is no number", remedy=_REMEDY)

    def score(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float] | None:
        """Return the raw logit of each passage, higher is better; ``None`` when ``seconds`` ran out before all had one.

        A passage is cut to what the window leaves, the question is kept. Batches hold passages of like length, the longest
        first. Loading the weights does not count as time. Raises ``ModelError`` when the model fails.
        """
        with self._loading:
            model = self._model
        deadline = time.monotonic() + seconds
        if not self._lock.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
            return None
        try:
            return self._score(model, self._kept(model, query), passages, deadline)
        except RuntimeError as error:  # out of memory, say
            raise ModelError(f"{self._short} failed ({str(error).splitlines()[0]})", remedy=_REMEDY) from None
        finally:
            self._lock.release()

    def _score(self, model: Any, query: str, passages: Sequence[str], deadline: float) -> list[float] | None:
        longest_first = sorted(range(len(passages)), key=lambda place: (-len(passages[place]), place))
        scores = [math.nan] * len(passages)
        for start in range(0, len(passages), BATCH):
            if time.monotonic() >= deadline:
                return None
            places = longest_first[start : start + BATCH]
            logits = model.predict(
                [(query, passages[place]) for place in places],
                batch_size=BATCH,
                show_progress_bar=False,
                processing_kwargs={"text": {"truncation": "only_second", "max_length": self.window}},
            )
            for place, logit in zip(places, logits, strict=True):
                scores[place] = float(logit)
        return scores

    def _kept(self, model: Any, query: str) -> str:
        """Return the question, or of one that is longer than its share of the window the beginning."""
        most = int(self.window * _QUESTION_SHARE)
        encoded = model.tokenizer(query, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        offsets: list[tuple[int, int]] = encoded["offset_mapping"]
        return query if len(offsets) <= most else query[: offsets[most - 1][1]]

    @cached_property
    def _model(self) -> Any:
        def load(torch: Any, library: Any) -> Any:
            return library.CrossEncoder(
                str(self._folder),
                local_files_only=True,
                trust_remote_code=False,
                activation_fn=torch.nn.Identity(),
                model_kwargs={"dtype": getattr(torch, self.dtype)},
            )

        return load_weights(self._folder, _SETTING, load).eval()


def _config(folder: Path) -> dict[str, Any]:
    """Return ``config.json`` of a folder that holds a trained cross-encoder.

    Of any other model the library would make one by adding a head of random numbers.
    """
    config = _read(folder / "config.json")
    if not config:
        raise ModelError(f"{folder} has no config.json", remedy=_REMEDY)
    architectures = config.get("architectures") or ["unknown"]
    if not str(architectures[0]).endswith("ForSequenceClassification"):
        raise ModelError(f"{folder} is no cross-encoder but {architectures[0]}", remedy=_REMEDY)
    labels = len(config.get("id2label") or {}) or config.get("num_labels", 2)
    if labels != 1:
        raise ModelError(f"{folder} gives {labels} numbers a pair, not one", remedy=_REMEDY)
    return config


def _read(path: Path) -> dict[str, Any]:
    """Return a JSON object, empty when the file is missing."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path} ({error})", remedy=_REMEDY) from None
    return value if isinstance(value, dict) else {}
