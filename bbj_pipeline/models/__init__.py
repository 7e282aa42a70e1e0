"""Adapters of models to the protocols of stages and retrieval: a tokenizer without torch; an embedder and a reranker with it.

Which model is a setting; what a model is (window, prompts, pooling, identity) is read from its folder in ``profile``. Nothing
here knows Dagster, SQL or a chunk.
"""

from bbj_pipeline.models.loading import load_embedder, load_reranker
from bbj_pipeline.models.profile import ModelProfile, load_profile
from bbj_pipeline.models.tokenizer import load_tokenizer

__all__ = ["ModelProfile", "load_embedder", "load_profile", "load_reranker", "load_tokenizer"]
