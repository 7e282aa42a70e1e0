"""``demo``: the sample exports through the whole pipeline, then one question whose answer lies in each source kind."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import click

from bbj_pipeline.cli.run import render, run_instances
from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.models import load_embedder
from bbj_pipeline.records import Generation
from bbj_pipeline.retrieval import SearchConfig, Searcher, SearchResponse
from bbj_pipeline.settings import SAMPLES_DIR, Settings, load_settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.sources.registry import source_kinds
from bbj_pipeline.storage.database import open_database

__all__ = ["demo"]

_EXCERPT = 110


@dataclass(frozen=True, slots=True)
class _Question:
    """A judged query of the samples; ``kind`` is where its best answer lies."""

    query: str
    generation: Generation | None
    kind: str


@click.command("demo")
def demo() -> None:
    """Run the sample exports and ask one question of each of the seven kinds."""
    started = time.perf_counter()
    settings = load_settings()
    samples = SAMPLES_DIR / "sources.yaml"
    if settings.sources_file != samples.resolve():
        raise ConfigurationError(
            f"the samples do not go where {settings.sources_file} is published",
            remedy="unset BBJ_SOURCES_FILE and let BBJ_DATA_DIR name a folder of the demo's own",
        )
    refs = [item.ref for item in load_sources(settings.sources_file)]
    failed = False
    # The database stays open over both halves, so that the embedded server is not stopped and started between them.
    with open_database(settings):
        for report in run_instances(settings, refs):
            click.echo(render(report))
            failed = failed or report.status == "failed"
        click.echo()
        answered = _ask(settings)
    total = len(source_kinds())
    click.echo(f"{answered}/{total} sources answered in {time.perf_counter() - started:.1f} s")
    if failed or answered < total:
        raise click.exceptions.Exit(1)


def _ask(settings: Settings) -> int:
    """Ask the samples' questions; return how many kinds gave the best hit to a question meant for them."""
    kinds: set[str] = set()
    with open_database(settings) as database:
        searcher = Searcher(database, load_embedder(settings), SearchConfig.from_settings(settings))
        for question in _questions():
            response = searcher.search(question.query, generation=question.generation)
            click.echo(_line(question, response))
            if response.hits and response.hits[0].chunk.kind == question.kind:
                kinds.add(question.kind)
            else:
                click.echo(f"  NOT from {question.kind}, where its best answer lies")
    return len(kinds)


def _questions() -> list[_Question]:
    lines = (SAMPLES_DIR / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    judged = [json.loads(line) for line in lines if line.strip()]
    return [
        _Question(item["query"], item["generation"], item["relevant"][0]["kind"])
        for item in judged
        if item["id"].startswith("demo")
    ]


def _line(question: _Question, response: SearchResponse) -> str:
    hint = f" [{question.generation}]" if question.generation else ""
    if not response.hits:
        return f"? {question.query}{hint}\n  no answer"
    best = response.hits[0].chunk
    text = " ".join(best.content.split())
    excerpt = text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
    return (
        f"? {question.query}{hint}\n"
        f"  {best.kind}/{best.instance}  {best.contextual_header}  ({', '.join(best.generations) or 'unknown'})\n"
        f"  {excerpt}\n"
        f"  {best.url or best.key}"
    )
