"""The tokenizer counts what the model would read, and costs no torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bbj_pipeline.errors import ConfigurationError, ModelError
from bbj_pipeline.models import load_profile, load_tokenizer
from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.models.tiny import write_tiny_model


def test_counts_are_exact_and_never_truncated() -> None:
    """Words of the vocabulary count one each, plus two special tokens, far beyond the 128 at which the file truncates."""
    tokenizer = load_tokenizer(Settings())
    assert tokenizer.count(["window", "window " * 1000, ""]) == [3, 1002, 2]
    assert tokenizer.count([]) == []


def test_the_offline_model_reads_512_tokens() -> None:
    """The window is what the model has positions for, not the 256 of its configuration; a setting may narrow it."""
    assert load_tokenizer(Settings()).window == 512
    assert load_tokenizer(Settings(embedding_window=256)).window == 256


def test_a_window_beyond_the_model_is_refused() -> None:
    """A setting that the model cannot read is an error that names the setting."""
    with pytest.raises(ConfigurationError, match="BBJ_EMBEDDING_WINDOW is 513"):
        load_tokenizer(Settings(embedding_window=513))


def test_the_name_says_model_tokens_and_window() -> None:
    """Other tokens or another window are another name, so that chunks are made again."""
    names = {load_tokenizer(Settings(embedding_window=window)).name for window in (None, 256, 512)}
    assert len(names) == 2
    assert all(name.startswith("all-MiniLM-L6-v2@") for name in names)


def test_it_is_loaded_once() -> None:
    """The same settings give the same object."""
    assert load_tokenizer(Settings()) is load_tokenizer(Settings())


def test_torch_is_not_imported_to_count() -> None:
    """Counting in a fresh process leaves torch and sentence-transformers alone."""
    program = (
        "import sys; from bbj_pipeline.models import load_tokenizer; from bbj_pipeline.settings import Settings;"
        "load_tokenizer(Settings()).count(['a']); print([m for m in ('torch', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("model", ["/no/such/folder", "./missing/model/folder"])
def test_a_missing_folder_is_one_clear_error(model: str) -> None:
    """A path that is not there is never taken for a hub name, and the error says what to set."""
    with pytest.raises(ModelError, match="BBJ_EMBEDDING_MODEL"):
        load_tokenizer(Settings(embedding_model=model))


def test_a_folder_without_tokenizer_is_refused(tmp_path: Path) -> None:
    """A folder that is no model says which file it lacks."""
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        load_tokenizer(Settings(embedding_model=str(tmp_path)))


def test_a_document_prompt_is_counted(tmp_path: Path) -> None:
    """What the model reads before every document takes room in its window."""
    folder = write_tiny_model(tmp_path / "tiny", document_prompt="doc: ")
    plain = write_tiny_model(tmp_path / "plain")
    text = ["window button " * 20]
    prompted = load_tokenizer(Settings(embedding_model=str(folder))).count(text)[0]
    assert prompted == load_tokenizer(Settings(embedding_model=str(plain))).count(text)[0] + 2  # "doc" and ":"


def test_known_models_get_their_prompts(tmp_path: Path) -> None:
    """A folder that carries no prompts gets those of its model card, by its name; its own would come first."""
    bare = write_tiny_model(tmp_path / "e5-small-v2")
    profile = load_profile(Settings(embedding_model=str(bare)), weights=False)
    assert (profile.query_prompt, profile.document_prompt) == ("query: ", "passage: ")
