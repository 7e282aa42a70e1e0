"""Whether a cross-encoder decided is said by every face; one that cannot be used is refused before anything is served."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import httpx
import pytest
from mcp.client import Client

from bbj_pipeline.cli.doctor import _reranker
from bbj_pipeline.errors import ModelError
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline_tests.models.tiny import write_tiny_cross_encoder
from bbj_pipeline_tests.retrieval.serving.conftest import EMBEDDER
from bbj_pipeline_tests.retrieval.serving.servers import call, environment, running


class Backwards:
    """Scores later passages higher; it is out of time when it has less than a tenth of a second."""

    name = "backwards@1"

    def warm(self) -> None:
        """Is always ready."""

    def score(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float] | None:
        return None if seconds < 0.1 else list(map(float, range(len(passages))))


@pytest.fixture
def url(small: Database, settings: Settings) -> Iterator[str]:
    """A server over four chunks with that reranker."""
    with running(small, EMBEDDER, settings, reranker=Backwards()) as found:
        yield found


def _ids(answer: httpx.Response) -> list[str]:
    return [hit["id"] for hit in answer.json()["hits"]]


def test_rest_says_whether_it_reranked(url: str) -> None:
    """The answer, the metrics and the health of the service tell of it; a request can do without it or give it less time."""
    plain = call(url, query="window", rerank=False)
    assert (plain.json()["reranked"], plain.json()["rerank_reason"]) == (False, "not asked for")
    reranked = call(url, query="window")
    assert reranked.json()["reranked"] is True
    assert _ids(reranked) == _ids(plain)[::-1]
    spent = call(url, query="window", rerank_milliseconds=99, explain=True)
    assert (spent.json()["reranked"], spent.json()["rerank_reason"]) == (False, "budget spent")
    assert spent.json()["explain"]["rerank"]["model"] == "backwards@1"
    assert _ids(spent) == _ids(plain)
    assert call(url, query="window", rerank_milliseconds=0).status_code == 422
    metrics = httpx.get(f"{url}/metrics").text
    for outcome in ("reranked", "not asked for", "budget spent"):
        assert f'bbj_reranks_total{{outcome="{outcome}"}} 1.0' in metrics
    assert "bbj_rerank_seconds_count" in metrics
    assert httpx.get(f"{url}/health/ready").json()["reranker"] == {"ok": True, "what": "backwards@1", "remedy": None}


def test_an_agent_is_told(url: str) -> None:
    """A spent budget stands in the text an agent reads and in the structured answer."""

    async def talk() -> None:
        async with Client(f"{url}/mcp") as client:
            spent = await client.call_tool("search_bbj_knowledge", {"query": "window", "rerank_milliseconds": 5})
            assert spent.structured_content["rerank_reason"] == "budget spent"
            assert "Not reranked: budget spent." in spent.content[0].text
            done = await client.call_tool("search_bbj_knowledge", {"query": "window"})
            assert done.structured_content["reranked"] is True
            assert "reranked" not in done.content[0].text

    anyio.run(talk)


def _command(settings: Settings, model: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from bbj_pipeline.cli import main; main()", *arguments]
    variables = environment(settings, BBJ_RERANKER_MODEL=str(model))
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_the_command_line_reranks(sample_settings: Settings, tmp_path: Path) -> None:
    """A model folder that is named decides the order; too little time is said below the hits."""
    model = write_tiny_cross_encoder(tmp_path / "tiny", window=64)
    done = _command(sample_settings, model, "search", "How do I create a window?", "--json", "--explain", "--limit", "50")
    answer = json.loads(done.stdout)
    assert answer["reranked"] is True
    assert answer["explain"]["rerank"]["model"].startswith("tiny@")
    ranks = [hit["explain"]["rerank"]["rank"] for hit in answer["hits"] if "rerank" in hit["explain"]]
    assert len(set(ranks)) == len(ranks) > 10  # of the twenty, a third passage of one document gives way to others
    assert set(ranks) <= set(range(1, 21))
    spent = _command(sample_settings, model, "search", "window", "--rerank-milliseconds", "1")
    assert spent.returncode == 0, spent.stderr
    assert "Not reranked: budget spent." in spent.stdout


@pytest.mark.parametrize("command", [("search", "window"), ("serve", "--port", "0"), ("mcp",)])
def test_a_missing_model_is_refused_at_the_start(sample_settings: Settings, tmp_path: Path, command: tuple[str, ...]) -> None:
    """One line with the path and what to set, and exit code 1; nothing is searched or served without it in silence."""
    missing = tmp_path / "none"
    done = _command(sample_settings, missing, *command)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"error: no model folder at {missing}: set BBJ_RERANKER_MODEL to 'off', a folder or a hub name"
    )
    assert done.stdout == ""


def test_doctor_looks_at_it(tmp_path: Path) -> None:
    """Off is sound, a model that scores is named, one that cannot be loaded is wrong."""
    assert _reranker(Settings()) == "off"
    model = write_tiny_cross_encoder(tmp_path / "tiny")
    assert _reranker(Settings(reranker_model=str(model))).startswith("tiny@")
    (write_tiny_cross_encoder(tmp_path / "broken") / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="cannot load the model"):
        _reranker(Settings(reranker_model=str(tmp_path / "broken")))
