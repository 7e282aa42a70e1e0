"""``search``: the retrieval module on the published tables, for a person or, with ``--json``, for a program."""

from __future__ import annotations

import json

import click

from bbj_pipeline.models import load_embedder
from bbj_pipeline.records import GENERATIONS, Generation
from bbj_pipeline.retrieval import SearchConfig, Searcher, render_text
from bbj_pipeline.settings import load_settings
from bbj_pipeline.sources.registry import get_source
from bbj_pipeline.storage.database import open_database

__all__ = ["search"]


@click.command("search")
@click.argument("query")
@click.option("--generation", type=click.Choice(GENERATIONS), help="The generation the developer works in.")
@click.option("--kind", "kinds", multiple=True, help="Only this source kind; may be given several times.")
@click.option("--limit", default=5, show_default=True, type=click.IntRange(1, 100), help="Hits at most.")
@click.option("--strict", is_flag=True, help="Only the given generation and universal documents.")
@click.option("--explain", is_flag=True, help="Show the stages behind each hit.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def search(
    query: str,
    generation: Generation | None,
    kinds: tuple[str, ...],
    limit: int,
    strict: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Find the best passages for QUERY, the hinted generation first."""
    settings = load_settings()
    for kind in kinds:
        get_source(kind)  # an unknown kind would find nothing, and say nothing
    with open_database(settings) as database:
        searcher = Searcher(database, load_embedder(settings), SearchConfig.from_settings(settings))
        response = searcher.search(query, generation=generation, kinds=kinds, limit=limit, strict=strict, explain=explain)
    click.echo(json.dumps(response.to_json(), ensure_ascii=False) if as_json else render_text(response))
