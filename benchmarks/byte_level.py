"""A byte-level BPE tokenizer of the kind that models with 1,024-dimensional vectors have, trained on given texts.

The parts are those of the Qwen family: NFC, its expression for pre-tokens, bytes as the alphabet, one token at the end. The
folder holds what is needed to count; there are no weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

__all__ = ["QWEN_PATTERN", "byte_level_tokenizer", "write_byte_level_model"]

QWEN_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""The expression of Qwen2 and Qwen3 tokenizers."""
_END = "<|endoftext|>"


def byte_level_tokenizer(texts: Iterable[str], *, vocabulary: int = 16_000, pattern: str | None = QWEN_PATTERN) -> Tokenizer:
    """Train a tokenizer; without ``pattern`` pre-tokens are found as in GPT-2."""
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC()
    if pattern is None:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        split = pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[_END, "<|im_start|>", "<|im_end|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    ending = processors.TemplateProcessing(single=f"$A {_END}", special_tokens=[(_END, tokenizer.token_to_id(_END))])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), ending])
    return tokenizer


def write_byte_level_model(folder: Path, tokenizer: Tokenizer, *, window: int) -> Path:
    """Write a model folder without weights whose window is ``window`` tokens; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "config.json", {"hidden_size": 1024, "max_position_embeddings": 32_768})
    _write(folder / "sentence_bert_config.json", {"max_seq_length": window})
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 1024, "pooling_mode_lasttoken": True})
    return folder


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
