"""Counts text in an embedding model's own tokens, with the ``tokenizers`` library alone.

No torch is imported here; counting is exact, so truncation and padding of the tokenizer file are switched off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tokenizers import Tokenizer as HfTokenizer

from bbj_pipeline.errors import ModelError
from bbj_pipeline.models.profile import ModelProfile, load_profile
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Tokenizer

__all__ = ["ModelTokenizer", "load_tokenizer"]


class ModelTokenizer:
    """The tokenizer of one model folder; see ``stages.contract.Tokenizer``."""

    def __init__(self, profile: ModelProfile) -> None:
        path = profile.folder / "tokenizer.json"
        try:
            tokenizer: Any = HfTokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for a file it cannot read
            raise ModelError(f"cannot read {path} ({error})", remedy="install the model again") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._prompt = profile.document_prompt
        self._window = profile.window
        self._name = f"{profile.name}@{profile.tokenizer_digest()[:12]}/{profile.window}"

    @property
    def name(self) -> str:
        """Model name, digest of its ``tokenizer.json`` and window."""
        return self._name

    @property
    def window(self) -> int:
        """Tokens the model reads at most, special tokens included."""
        return self._window

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text as the model reads it alone: the document prompt and special tokens included."""
        if not texts:
            return []
        inputs = [self._prompt + text for text in texts] if self._prompt else list(texts)
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(inputs)]

    def cut(self, text: str) -> str:
        """Return the longest beginning of ``text`` that the model reads whole, special tokens included."""
        encoding = self._tokenizer.encode(text)
        if len(encoding) <= self._window:
            return text
        special = len(encoding) - len(self._tokenizer.encode(text, add_special_tokens=False))
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return text[: offsets[self._window - special - 1][1]]


def load_tokenizer(settings: Settings) -> Tokenizer:
    """Return the tokenizer of ``settings.embedding_model``, loaded once a process.

    Raises ``ModelError`` with the remedy when the model is not installed.
    """
    return _load(settings.embedding_model, settings.embedding_window)


@cache
def _load(model: str, window: int | None) -> ModelTokenizer:
    return ModelTokenizer(load_profile(Settings(embedding_model=model, embedding_window=window), weights=False))
