"""What a model is, read from the files of its folder: window, prompts, pooling, normalisation, dimension, identity.

Only small JSON files are read here and nothing of torch is imported, so a command that only counts tokens starts fast.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbj_pipeline.errors import ConfigurationError, ModelError
from bbj_pipeline.models.folder import find_model_folder
from bbj_pipeline.records import content_hash
from bbj_pipeline.settings import Settings

__all__ = ["ModelProfile", "files_digest", "load_profile"]

_SANE_WINDOW = 1_000_000
"""Tokenizer configurations write 1e30 for "no limit"; a larger number than this says nothing."""

_KNOWN_WINDOWS = {"all-MiniLM-L6-v2": 512}
"""Windows whose own configuration understates them: all-MiniLM-L6-v2 has 512 positions, but its files say 256 and 128."""

_QWEN3_QUERY = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_KNOWN_PROMPTS: dict[str, tuple[str, str]] = {
    "Qwen3-Embedding-0.6B": (_QWEN3_QUERY, ""),
    "Qwen3-Embedding-4B": (_QWEN3_QUERY, ""),
    "Qwen3-Embedding-8B": (_QWEN3_QUERY, ""),
    "bge-small-en-v1.5": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-base-en-v1.5": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-large-en-v1.5": ("Represent this sentence for searching relevant passages: ", ""),
    "e5-small-v2": ("query: ", "passage: "),
    "e5-base-v2": ("query: ", "passage: "),
    "e5-large-v2": ("query: ", "passage: "),
    "multilingual-e5-small": ("query: ", "passage: "),
    "multilingual-e5-base": ("query: ", "passage: "),
    "multilingual-e5-large": ("query: ", "passage: "),
}
"""Query and document prompts that the model cards ask for but the model folders do not carry."""

_IDENTITY_SUFFIXES = {".json", ".txt", ".model", ".safetensors", ".bin"}
_NOT_IDENTITY = {"README.md", "model_card.json", "data_config.json"}


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """One model folder, described.

    ``window`` is in tokens, special ones included. The prompts are put before a query or a document and may be empty.
    ``pooling`` is the pooling module's configuration in canonical JSON, ``dimension`` the length of the vectors.
    """

    name: str
    folder: Path
    window: int
    query_prompt: str
    document_prompt: str
    pooling: str
    dimension: int

    def revision(self) -> str:
        """Return a digest of every file that decides a vector: weights, tokenizer, configuration. Reads the weights once."""
        return files_digest(self.folder)

    def fingerprint(self, *, provider: str, revision: str) -> str:
        """Return the name of the embedding space that a provider makes of this model: what decides a vector, digested."""
        identity = {
            "provider": provider,
            "model": self.name,
            "revision": revision,
            "pooling": self.pooling,
            "query_prompt": self.query_prompt,
            "document_prompt": self.document_prompt,
            "window": self.window,
            "normalised": True,
            "dimension": self.dimension,
        }
        return f"{self.name}:{content_hash(identity)[:32]}"

    def tokenizer_digest(self) -> str:
        """Return a digest of ``tokenizer.json``: other tokens, other counts."""
        return hashlib.sha256((self.folder / "tokenizer.json").read_bytes()).hexdigest()


def files_digest(folder: Path) -> str:
    """Return a digest of every file of a model folder that decides what it computes."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda item: item.relative_to(folder).as_posix()):
        if path.suffix not in _IDENTITY_SUFFIXES or path.name in _NOT_IDENTITY or not path.is_file():
            continue
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def load_profile(settings: Settings, *, weights: bool) -> ModelProfile:
    """Describe the model that ``settings.embedding_model`` names; with ``weights`` its weight files are there as well.

    Raises ``ModelError`` with the remedy when it is not installed, ``ConfigurationError`` for a window it does not have.
    """
    name, folder = find_model_folder(settings.embedding_model, weights=weights)
    if not (folder / "tokenizer.json").is_file():
        raise ModelError(
            f"{folder} has no tokenizer.json", remedy="set BBJ_EMBEDDING_MODEL to a sentence-transformers folder with one"
        )
    query_prompt, document_prompt = _prompts(name, _read(folder / "config_sentence_transformers.json"))
    return ModelProfile(
        name=name,
        folder=folder,
        window=_window(name, folder, settings.embedding_window),
        query_prompt=query_prompt,
        document_prompt=document_prompt,
        pooling=json.dumps(_read(folder / "1_Pooling" / "config.json"), sort_keys=True, separators=(",", ":")),
        dimension=_dimension(folder),
    )


def _window(name: str, folder: Path, wanted: int | None) -> int:
    positions = _read(folder / "config.json").get("max_position_embeddings")
    if wanted is not None:
        if isinstance(positions, int) and wanted > positions:
            raise ConfigurationError(
                f"BBJ_EMBEDDING_WINDOW is {wanted}, but {name} has {positions} positions", remedy="lower it or unset it"
            )
        return wanted
    stated = (
        _KNOWN_WINDOWS.get(name),
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "tokenizer_config.json").get("model_max_length"),
        positions,
    )
    for value in stated:
        if isinstance(value, int) and 0 < value < _SANE_WINDOW:
            return min(value, positions) if isinstance(positions, int) else value
    raise ModelError(f"{folder} does not say how many tokens it reads", remedy="set BBJ_EMBEDDING_WINDOW")


def _dimension(folder: Path) -> int:
    """Return the vectors' length: what a last dense layer puts out, else what the pooling or the transformer gives."""
    dense = [_read(path).get("out_features") for path in sorted(folder.glob("*_Dense/config.json"))]
    pooling = _read(folder / "1_Pooling" / "config.json")
    stated = (
        *reversed(dense),
        pooling.get("word_embedding_dimension"),
        pooling.get("embedding_dimension"),
        _read(folder / "config.json").get("hidden_size"),
    )
    for value in stated:
        if isinstance(value, int) and value > 0:
            return value
    raise ModelError(f"{folder} does not say how long its vectors are", remedy="install the model again")


def _prompts(name: str, config: dict[str, Any]) -> tuple[str, str]:
    """Return the query and document prompts: the folder's own before the table's."""
    own = config.get("prompts") or {}
    known = _KNOWN_PROMPTS.get(name, ("", ""))
    query = own.get("query") or known[0]
    document = own.get("document") or own.get("passage") or known[1]
    return str(query), str(document)


def _read(path: Path) -> dict[str, Any]:
    """Return a JSON object, empty when the file is missing."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path} ({error})", remedy="install the model again") from None
    return value if isinstance(value, dict) else {}
