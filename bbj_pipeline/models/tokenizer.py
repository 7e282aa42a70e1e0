"""Counts text in an embedding model's own tokens, with the ``tokenizers`` library alone; the counts are exact.

A chunker counts the same words again and again: as a block, as a sentence, in a finished chunk. Where the model's
pre-tokenizer never joins certain *units* of text, each distinct unit is tokenised once and a text is the sum of its units;
which tokenizers these are is read from their file, never guessed. No torch is imported, and no text is cut here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tokenizers import Tokenizer as HfTokenizer

from bbj_pipeline.errors import ModelError
from bbj_pipeline.models.profile import ModelProfile, load_profile
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Tokenizer

__all__ = ["ModelTokenizer", "load_tokenizer", "unit_pattern"]

_MOST_REMEMBERED = 8_000_000
"""Characters of units whose counts are kept, some 60 MB; past that a tokenizer starts to remember anew."""

_UNITS_A_CALL = 512

_BREAK = "\n\r"
_BLANK = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Unicode's White_Space apart from line ends, as a regular expression's character class."""

_WORDS = re.compile(r"[^ \t\n]+")
"""BERT splits at white space before anything else and drops it."""
_SPACED_WORDS = re.compile(f"[{_BLANK}{_BREAK}]*[^{_BLANK}{_BREAK}]+|[{_BLANK}{_BREAK}]+")
"""GPT-2's expression matches nothing in which a word is followed by white space, and never looks behind."""
_SPACED_WORDS_WITH_BREAKS = re.compile(
    f"[{_BLANK}]*[^{_BLANK}{_BREAK}]+(?:[{_BLANK}{_BREAK}]*[{_BREAK}])?|[{_BLANK}{_BREAK}]*[{_BREAK}]|[{_BLANK}]+"
)
"""The newer ones give line ends to the white space or the punctuation before them; nothing reaches over the last of a run."""

_BREAK_PATTERNS = frozenset(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + numbers + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
    for numbers in ("", "{1,3}")
)
"""The expressions of the Qwen family, and of cl100k and Llama 3, which take up to three digits together."""
_ADDITIVE_NORMALIZERS = frozenset({"BertNormalizer", "Lowercase", "NFC"})
"""Normalizers that change nothing across a place where white space meets a word."""


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
        self._units = unit_pattern(json.loads(tokenizer.to_str()))
        self._special = len(tokenizer.encode(""))
        self._known: dict[str, int] = {}
        self._remembered = 0

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
        inputs = [self._prompt + text for text in texts] if self._prompt else texts
        if self._units is None:
            return self._tokenised(inputs)
        find = self._units.findall
        split = [find(text) for text in inputs]
        known = self._with_counts(split).__getitem__
        return [sum(map(known, units), self._special) for units in split]

    def cut(self, text: str) -> str:
        """Return the longest beginning of ``text`` that the model reads whole, special tokens included."""
        encoding = self._tokenizer.encode(text)
        if len(encoding) <= self._window:
            return text
        special = len(encoding) - len(self._tokenizer.encode(text, add_special_tokens=False))
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return text[: offsets[self._window - special - 1][1]]

    def _with_counts(self, split: Sequence[Sequence[str]]) -> dict[str, int]:
        """Return counts, without special tokens, that hold every unit of ``split``."""
        known = self._known
        units = set().union(*split)
        new = list(units.difference(known))
        self._remembered += sum(map(len, new))
        if self._remembered > _MOST_REMEMBERED:
            new = list(units)
            known = self._known = {}  # another thread may still be reading the old one
            self._remembered = sum(map(len, new))
        if new:
            for start in range(0, len(new), _UNITS_A_CALL):
                known.update(self._unit_counts(new[start : start + _UNITS_A_CALL]))
        return known

    def _unit_counts(self, units: list[str]) -> dict[str, int]:
        """Return the tokens of each unit, tokenised by itself but in one call, which spares most of a call's cost."""
        numbers = Counter(self._tokenizer.encode(units, is_pretokenized=True, add_special_tokens=False).word_ids)
        return {unit: numbers[number] for number, unit in enumerate(units)}

    def _tokenised(self, inputs: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(list(inputs))]


def unit_pattern(tokenizer: Mapping[str, Any]) -> re.Pattern[str] | None:
    """Return the expression that finds the units of a text whose tokens add up to the text's, ``None`` where none is known.

    ``tokenizer`` is the content of a ``tokenizer.json``. White space between units counts only where it is part of one.
    """
    added = tokenizer.get("added_tokens") or ()
    if any(token["lstrip"] or token["rstrip"] or token["content"].split() != [token["content"]] for token in added):
        return None  # such a token takes white space away from its neighbours
    if not {part["type"] for part in _parts(tokenizer.get("normalizer"), "normalizers")} <= _ADDITIVE_NORMALIZERS:
        return None
    match _parts(tokenizer.get("pre_tokenizer"), "pretokenizers"):
        case [{"type": "BertPreTokenizer"}]:
            return _WORDS
        case [{"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}]:
            return _SPACED_WORDS
        case [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        ] if pattern in _BREAK_PATTERNS:
            return _SPACED_WORDS_WITH_BREAKS
    return None


def _parts(step: Mapping[str, Any] | None, inner: str) -> list[Mapping[str, Any]]:
    """Return the steps of a sequence, or the one step that there is."""
    if step is None:
        return []
    return list(step[inner]) if step["type"] == "Sequence" else [step]


def load_tokenizer(settings: Settings) -> Tokenizer:
    """Return the tokenizer of ``settings.embedding_model``, loaded once a process.

    Raises ``ModelError`` with the remedy when the model is not installed.
    """
    return _load(settings.embedding_model, settings.embedding_window)


@cache
def _load(model: str, window: int | None) -> ModelTokenizer:
    return ModelTokenizer(load_profile(Settings(embedding_model=model, embedding_window=window), weights=False))
