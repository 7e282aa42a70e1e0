"""``search``: the retrieval module on the published tables, for a person or, with ``--json``, for a program."""

from __future__ import annotations

import json
from typing import Any, get_args

import click

from bbj_pipeline.models import load_embedder, load_reranker
from bbj_pipeline.records import GENERATIONS, DocType
from bbj_pipeline.retrieval import SearchConfig, Searcher, render_text
from bbj_pipeline.retrieval.request import MAX_RERANK_MILLISECONDS
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
@click.option("--source", "sources", multiple=True, metavar="KIND/INSTANCE", help="Only this instance; several times.")
@click.option(
    "--doc-type", "doc_types", multiple=True, type=click.Choice(get_args(DocType)), help="Only this type; several times."
)
@click.option("--bbj-version", "version", help="The BBj you have, 19 or 19.10: leaves out what came later.")
@click.option("--current", is_flag=True, help="Leave out what is deprecated or no longer valid.")
@click.option("--confident", is_flag=True, help="Nothing rather than noise when the answer does not seem to be there.")
@click.option("--token-budget", type=click.IntRange(1), help="Tokens that all passages may have together.")
@click.option("--neighbours", default=0, type=click.IntRange(0, 5), help="Passages before and after each hit.")
@click.option(
    "--rerank/--no-rerank", default=True, show_default=True, help="Let the configured cross-encoder order the best passages."
)
@click.option("--rerank-milliseconds", type=click.IntRange(1, MAX_RERANK_MILLISECONDS), help="Time it has for that.")
@click.option("--explain", is_flag=True, help="Show the stages behind each hit.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def search(query: str, as_json: bool, **options: Any) -> None:
    """Find the best passages for QUERY, the hinted generation first."""
    settings = load_settings()
    for kind in options["kinds"]:
        get_source(kind)  # an unknown kind would find nothing, and say nothing
    with open_database(settings) as database:
        reranker = load_reranker(settings) if options["rerank"] else None
        if reranker is not None:
            reranker.warm()  # one that cannot be loaded is refused, not searched without
        searcher = Searcher(database, load_embedder(settings), SearchConfig.from_settings(settings), reranker=reranker)
        response = searcher.search(query, **options)
    click.echo(json.dumps(response.to_json(), ensure_ascii=False) if as_json else render_text(response))
