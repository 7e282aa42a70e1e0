"""A model in an Ollama server gives the vectors its weights give, and nothing is cut or lost in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbj_pipeline.errors import ModelError, ModelUnavailable
from bbj_pipeline.models import load_profile
from bbj_pipeline.models.embedder import SentenceTransformerEmbedder
from bbj_pipeline.models.ollama import OllamaEmbedder
from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.models.ollama_server import Answer, ollama_server
from bbj_pipeline_tests.models.tiny import write_tiny_model

TEXTS = ["window button", "read file", "open grid event"]


class Served:
    """A tiny model's real vectors in Ollama's words; it refuses a batch with an infinite vector as the Go server does."""

    def __init__(self, folder: Path) -> None:
        write_tiny_model(folder, query_prompt="query: ", document_prompt="doc: ")
        self.profile = load_profile(Settings(embedding_model=str(folder)), weights=True)
        self.model = SentenceTransformerEmbedder(self.profile, batch=8, dtype="float32")
        self.read_share = 1.0

    def answer(self, body: dict[str, Any]) -> Answer:
        texts = body["input"]
        if any("print print" in text for text in texts):
            return 500, {"error": "failed to encode response: json: unsupported value: NaN"}
        vectors = 3.0 * self.model._encode(texts, "")
        read = int(sum(len(text.split()) + 2 for text in texts) * self.read_share)
        return 200, {"model": body["model"], "embeddings": vectors.tolist(), "prompt_eval_count": read}


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path / "tiny")


def of(served: Served, url: str, model: str = "tiny-embed") -> OllamaEmbedder:
    return OllamaEmbedder(served.profile, model=model, url=url)


def test_vectors_are_the_models_own_with_its_prompts(served: Served) -> None:
    """Documents and queries get the model's prompts and come back as its unit vectors; truncation is asked to be off."""
    with ollama_server(served.answer, models={"tiny-embed:latest": "abc"}) as (url, asked):
        embedder = of(served, url)
        assert np.allclose(embedder.embed_documents(TEXTS), served.model.embed_documents(TEXTS), atol=1e-5)
        assert np.allclose(embedder.embed_query("window"), served.model.embed_query("window"), atol=1e-5)
    assert asked[0]["input"] == [f"doc: {text}" for text in TEXTS]
    assert asked[1]["input"] == ["query: window"]
    assert all(body["truncate"] is False and body["options"]["num_ctx"] == 32 for body in asked)


def test_the_fingerprint_follows_the_served_weights(served: Served) -> None:
    """Other weights under one name are another space, and none of them is the space of the local weights."""
    found = []
    for digest in ("abc", "abc", "def"):
        with ollama_server(served.answer, models={"tiny-embed": digest}) as (url, _):
            found.append(of(served, url).fingerprint)
    assert found[0] == found[1] != found[2]
    assert served.model.fingerprint not in found


def test_an_overlong_text_is_refused_before_it_is_sent(served: Served) -> None:
    """A text over the window is an error with its length; the server never sees it."""
    with (
        ollama_server(served.answer, models={"tiny-embed": "abc"}) as (url, asked),
        pytest.raises(ModelError, match="text 1 has 44 tokens, tiny reads 32"),
    ):
        of(served, url).embed_documents(["window", "window " * 40])
    assert not asked


def test_a_query_over_the_window_is_cut_to_it(served: Served) -> None:
    """A long question is answered by its beginning: two special tokens, ``query``, ``:`` and 28 words fill a window of 32."""
    with ollama_server(served.answer, models={"tiny-embed": "abc"}) as (url, asked):
        of(served, url).embed_query("window " * 100)
    assert asked[0]["input"] == ["query: " + " ".join(["window"] * 28)]


def test_truncation_in_silence_is_found(served: Served) -> None:
    """A server that read fewer tokens than were sent is refused: what it did not read is not in the vector."""
    served.read_share = 0.3
    with (
        ollama_server(served.answer, models={"tiny-embed": "abc"}) as (url, _),
        pytest.raises(ModelError, match="read 7 of 26"),
    ):
        of(served, url).embed_documents(["window " * 22])


def test_a_text_that_spoils_its_batch_is_alone_without_a_vector(served: Served) -> None:
    """Ollama answers a batch with a NaN by an error; the batch is halved until only the bad text has no vector."""
    with ollama_server(served.answer, models={"tiny-embed": "abc"}) as (url, _):
        vectors = of(served, url).embed_documents([*TEXTS, "print print", *TEXTS])
    assert [bool(np.isfinite(row).all()) for row in vectors] == [True, True, True, False, True, True, True]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, {"embeddings": [[1.0, 2.0]]}), "vectors of shape"),
        ((200, {"embeddings": [[None] * 16]}), "shape|unusable"),
        ((200, {}), "vectors of shape"),
        ((404, {"error": "model not found"}), "404 model not found"),
        ((500, {"error": "out of memory"}), "500 out of memory"),
    ],
    ids=["dimension", "null", "empty", "missing", "failed"],
)
def test_an_answer_that_is_none_is_a_clear_error(served: Served, answer: Answer, message: str) -> None:
    """Another dimension, missing vectors or an error of the server end in what was found."""
    with ollama_server(lambda body: answer, models={"tiny-embed": "abc"}) as (url, _), pytest.raises(ModelError, match=message):
        of(served, url).embed_query("window")


def test_a_missing_model_and_a_missing_server_name_their_remedies(served: Served) -> None:
    """An unknown model is one to pull; a server that does not answer is one to start, and may be retried."""
    with (
        ollama_server(served.answer, models={"other": "abc"}) as (url, _),
        pytest.raises(ModelError, match="ollama pull tiny-embed"),
    ):
        _ = of(served, url).fingerprint
    with pytest.raises(ModelUnavailable, match="BBJ_OLLAMA_URL"):
        of(served, url).embed_query("window")
