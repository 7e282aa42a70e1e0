"""The cross-encoder gives the model's own raw logits, in time or not at all, and refuses what is none."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bbj_pipeline.errors import ModelError
from bbj_pipeline.models import load_reranker
from bbj_pipeline.models.cross_encoder import BATCH, CrossEncoderReranker
from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.models.tiny import write_tiny_cross_encoder, write_tiny_model

QUERY = "open window"
PASSAGES = ["print file read", "window open button", "grid", "read file print " * 30, "button event window", "event " * 9]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_cross_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def exact(folder: Path) -> CrossEncoderReranker:
    """The tiny model in float32."""
    return CrossEncoderReranker("tiny", folder, dtype="float32")


def logits(folder: Path, query: str, passages: list[str], window: int = 32) -> list[float]:
    """What transformers itself computes, one pair at a time; passages are cut, the question is not."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = []
    for passage in passages:
        inputs = tokenizer(query, passage, truncation="only_second", max_length=window, return_tensors="pt")
        with torch.inference_mode():
            found.append(model(**inputs).logits.item())
    return found


def test_scores_are_the_raw_logits(folder: Path, exact: CrossEncoderReranker) -> None:
    """No sigmoid, no normalisation: the numbers are the model's, whatever batch and order the passages came in."""
    expected = logits(folder, QUERY, PASSAGES)
    assert max(expected) > 1 or min(expected) < 0  # a sigmoid would show
    assert exact.score(QUERY, PASSAGES, seconds=60) == pytest.approx(expected, abs=1e-4)


def test_a_score_does_not_depend_on_its_batch(exact: CrossEncoderReranker) -> None:
    """A passage scores the same alone, among others and in another order; a second call gives the same numbers."""
    many = PASSAGES * (BATCH + 1)
    together = exact.score(QUERY, many, seconds=60)
    assert together == exact.score(QUERY, many, seconds=60)
    alone = [(exact.score(QUERY, [passage], seconds=60) or [math.nan])[0] for passage in PASSAGES]
    assert together == pytest.approx(alone * (BATCH + 1), abs=1e-4)
    backwards = exact.score(QUERY, many[::-1], seconds=60)
    assert backwards is not None
    assert backwards[::-1] == pytest.approx(together, abs=1e-4)
    assert exact.score(QUERY, [], seconds=60) == []


def test_bfloat16_orders_like_float32(folder: Path, exact: CrossEncoderReranker) -> None:
    """The fast number format changes scores by a share that leaves clear differences in order."""
    fast = np.array(CrossEncoderReranker("tiny", folder, dtype="bfloat16").score(QUERY, PASSAGES, seconds=60))
    slow = np.array(exact.score(QUERY, PASSAGES, seconds=60))
    apart = np.ptp(slow)
    assert np.abs(fast - slow).max() < 0.05 * apart
    for one in range(len(slow)):
        for other in range(len(slow)):
            if slow[one] > slow[other] + 0.1 * apart:
                assert fast[one] > fast[other]


def test_the_question_is_kept_and_the_passage_cut(folder: Path, exact: CrossEncoderReranker) -> None:
    """What stands beyond the window changes nothing; a question longer than half of it leaves the passage its half."""
    assert exact.window == 32
    long = "read file " * 40
    scores = exact.score(QUERY, [long, long + "window"], seconds=60)
    assert scores is not None
    assert scores[0] == scores[1]
    asked = "window " * 40
    assert exact.score(asked, PASSAGES, seconds=60) == pytest.approx(logits(folder, "window " * 16, PASSAGES), abs=1e-4)


def test_a_spent_budget_gives_no_scores(exact: CrossEncoderReranker) -> None:
    """Scores are whole or none; waiting for another question's scores counts as time."""
    exact.warm()
    assert exact.score(QUERY, PASSAGES, seconds=0) is None
    assert exact.score(QUERY, PASSAGES * 200, seconds=0.01) is None
    with ThreadPoolExecutor() as pool:
        with exact._lock:  # another question is being scored
            assert pool.submit(exact.score, QUERY, PASSAGES, seconds=0.01).result() is None
        assert exact.score(QUERY, PASSAGES, seconds=60) is not None


def test_threads_get_their_own_scores(exact: CrossEncoderReranker) -> None:
    """Questions asked at the same time from several threads are answered as if they were asked one after the other."""
    questions = ["open window", "read file", "print grid", "button event"] * 3
    expected = [exact.score(question, PASSAGES, seconds=60) for question in questions]
    with ThreadPoolExecutor(max_workers=4) as pool:
        assert list(pool.map(lambda question: exact.score(question, PASSAGES, seconds=60), questions)) == expected


def test_its_name_holds_the_revision(folder: Path, tmp_path: Path) -> None:
    """Other weights under the same name are another reranker."""
    other = write_tiny_cross_encoder(tmp_path / "tiny", seed=1)
    names = {CrossEncoderReranker("tiny", place).name for place in (folder, other)}
    assert len(names) == 2
    assert all(name.startswith("tiny@") for name in names)


def test_off_is_off_and_a_model_is_loaded_once(folder: Path) -> None:
    """By default there is none; a process holds one copy of the one that is named."""
    assert load_reranker(Settings()) is None
    settings = Settings(reranker_model=str(folder))
    assert load_reranker(settings) is load_reranker(settings)


def test_a_missing_folder_is_refused_with_the_remedy(tmp_path: Path) -> None:
    """The message names the path and what to set."""
    with pytest.raises(ModelError) as caught:
        load_reranker(Settings(reranker_model=str(tmp_path / "none")))
    assert str(caught.value) == (
        f"no model folder at {tmp_path / 'none'}: set BBJ_RERANKER_MODEL to 'off', a folder or a hub name"
    )


def test_what_is_no_cross_encoder_is_refused(tmp_path: Path) -> None:
    """An embedder, which a library would give a head of random numbers, a classifier of several labels, an empty folder."""
    embedder = write_tiny_model(tmp_path / "embedder")
    classifier = write_tiny_cross_encoder(tmp_path / "classifier", labels=3)
    (tmp_path / "empty").mkdir()
    for place, said in (
        (embedder, "is no cross-encoder but BertModel"),
        (classifier, "gives 3 numbers a pair, not one"),
        (tmp_path / "empty", "has no config.json"),
    ):
        with pytest.raises(ModelError, match=said) as caught:
            load_reranker(Settings(reranker_model=str(place)))
        assert caught.value.remedy == "set BBJ_RERANKER_MODEL to a cross-encoder, or to 'off'"


def test_broken_weights_are_one_clear_error(tmp_path: Path) -> None:
    """Weights that cannot be read, and weights that give no numbers, are refused when the model is made ready."""
    broken = write_tiny_cross_encoder(tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelError, match=r"cannot load the model in .*broken.* set BBJ_RERANKER_MODEL to another one"):
        CrossEncoderReranker("broken", broken).warm()
    numberless = write_tiny_cross_encoder(tmp_path / "numberless")
    weights = load_file(numberless / "model.safetensors")
    weights["classifier.bias"][:] = math.nan
    save_file(weights, numberless / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="numberless gave a score that is no number"):
        CrossEncoderReranker("numberless", numberless).warm()


def test_a_window_is_read_from_the_files(tmp_path: Path) -> None:
    """A tokenizer without a limit leaves the positions, less two that RoBERTa cannot use; a larger limit is cut."""
    place = write_tiny_cross_encoder(tmp_path / "tiny")
    stated = json.loads((place / "tokenizer_config.json").read_text(encoding="utf-8"))
    for limit, window in ((10**30, 62), (500, 64), (20, 20)):
        (place / "tokenizer_config.json").write_text(json.dumps({**stated, "model_max_length": limit}), encoding="utf-8")
        assert CrossEncoderReranker("tiny", place).window == window


def test_nothing_is_loaded_before_it_is_needed(folder: Path) -> None:
    """Finding the reranker and its name imports no torch; a code location that names none of it stays light."""
    script = (
        "import sys; from bbj_pipeline.models import load_reranker; from bbj_pipeline.settings import Settings\n"
        f"assert load_reranker(Settings(reranker_model={str(folder)!r})).name.startswith('tiny@')\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
