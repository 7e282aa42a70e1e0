"""Models of a few kilobytes with random weights, written to a folder, an embedder and a cross-encoder: what users may have."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

WORDS = ["window", "button", "open", "read", "print", "grid", "event", "file", "query:", "doc:"]


def write_tiny_model(
    folder: Path, *, query_prompt: str = "", document_prompt: str = "", window: int = 32, seed: int = 0
) -> Path:
    """Write a BERT of one layer and 16 dimensions; its prompts are part of its configuration."""
    _write_tokenizer(folder)
    torch.manual_seed(seed)
    BertModel(_config()).save_pretrained(folder)
    _write(
        folder / "modules.json",
        [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
    )
    _write(folder / "sentence_bert_config.json", {"max_seq_length": window, "do_lower_case": False})
    _write(folder / "config_sentence_transformers.json", {"prompts": {"query": query_prompt, "document": document_prompt}})
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True})
    return folder


def write_tiny_cross_encoder(folder: Path, *, window: int = 32, seed: int = 0, labels: int = 1) -> Path:
    """Write a cross-encoder of one layer and 16 dimensions, its weights large, so that its logits differ."""
    _write_tokenizer(folder, window=window)
    torch.manual_seed(seed)
    BertForSequenceClassification(_config(num_labels=labels, initializer_range=1.0)).save_pretrained(folder)
    return folder


def _config(**more: float) -> BertConfig:
    return BertConfig(
        vocab_size=len(WORDS) + 4,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        **more,
    )


def _write_tokenizer(folder: Path, *, window: int | None = None) -> None:
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.enable_truncation(16)
    folder.mkdir(parents=True, exist_ok=True)
    more = {} if window is None else {"model_max_length": window}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", **more
    ).save_pretrained(folder)


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
