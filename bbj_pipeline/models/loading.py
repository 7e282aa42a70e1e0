"""Chooses what the settings name and keeps one embedder and one reranker a process. How a model computes belongs elsewhere."""

from __future__ import annotations

from functools import cache

from bbj_pipeline.models.cross_encoder import CrossEncoderReranker
from bbj_pipeline.models.embedder import SentenceTransformerEmbedder
from bbj_pipeline.models.folder import find_reranker_folder
from bbj_pipeline.models.ollama import OllamaEmbedder
from bbj_pipeline.models.profile import load_profile
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Embedder

__all__ = ["OFF", "load_embedder", "load_reranker"]

OFF = "off"


def load_embedder(settings: Settings) -> Embedder:
    """Return the embedder of ``settings``, loaded once a process.

    Raises ``ModelError`` with the remedy when the model is not installed or cannot be loaded.
    """
    if settings.ollama_model is not None:
        return _ollama(settings.embedding_model, settings.embedding_window, settings.ollama_model, settings.ollama_url)
    return _sentence_transformers(settings.embedding_model, settings.embedding_window, settings.embedding_batch)


def load_reranker(settings: Settings) -> CrossEncoderReranker | None:
    """Return the cross-encoder of ``settings``, one a process, ``None`` when it is switched off. Its weights wait for ``warm``.

    Raises ``ModelError`` with the remedy when it is not there, or is no cross-encoder.
    """
    return None if settings.reranker_model == OFF else _cross_encoder(settings.reranker_model)


@cache
def _cross_encoder(model: str) -> CrossEncoderReranker:
    return CrossEncoderReranker(*find_reranker_folder(model))


@cache
def _sentence_transformers(model: str, window: int | None, batch: int) -> SentenceTransformerEmbedder:
    profile = load_profile(Settings(embedding_model=model, embedding_window=window), weights=True)
    return SentenceTransformerEmbedder(profile, batch=batch)


@cache
def _ollama(model: str, window: int | None, served: str, url: str) -> OllamaEmbedder:
    profile = load_profile(Settings(embedding_model=model, embedding_window=window), weights=False)
    return OllamaEmbedder(profile, model=served, url=url)
