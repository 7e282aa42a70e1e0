"""``eval``: how good search is on judged queries, as tables or JSON; with ``--ablations``, what each of its parts is worth."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.evaluation import Answer, JudgedSet, Summary, load_judged, summarize
from bbj_pipeline.evaluation.ablations import Ablation, ablation, ablation_lines, answers_of, fusion_grid, search_ablations
from bbj_pipeline.evaluation.held_out import HeldOut, held_out
from bbj_pipeline.evaluation.metrics import PRIMARY
from bbj_pipeline.evaluation.running import EmbedOnce
from bbj_pipeline.evaluation.summary import score_answers
from bbj_pipeline.evaluation.tables import summary_table
from bbj_pipeline.evaluation.trec import qrels, run
from bbj_pipeline.evaluation.variants import index_ablations
from bbj_pipeline.models import load_embedder, load_reranker
from bbj_pipeline.records import to_json
from bbj_pipeline.retrieval import SearchConfig
from bbj_pipeline.settings import Settings, load_settings
from bbj_pipeline.storage.database import Database, open_database

__all__ = ["eval"]


@click.command("eval")
@click.option("--judged", type=click.Path(path_type=Path), help="Judged queries (JSON lines) other than the configured ones.")
@click.option(
    "--ablations", is_flag=True, help="Also leave out one part after another; embeds the corpus anew for two of them."
)
@click.option(
    "--grid",
    is_flag=True,
    help="Also try weights and candidates of the two legs: twenty fusions, and whether the one in use holds on queries that did"
    " not choose it.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    "--run-file", type=click.Path(path_type=Path), help="Write the rankings there in TREC format, the judgements to FILE.qrels."
)
def eval(  # noqa: A001  # the command's name
    judged: Path | None, ablations: bool, grid: bool, as_json: bool, run_file: Path | None
) -> None:
    """Ask the judged queries of what is published and print MRR, nDCG@10 and recall with 95 % intervals."""
    settings = load_settings()
    queries = _judged(settings, judged)
    reranker = load_reranker(settings) if ablations else None
    if reranker is not None:
        reranker.warm()  # said before minutes are spent
    config = SearchConfig.from_settings(settings)
    with open_database(settings) as database:
        embedder = EmbedOnce(load_embedder(settings))
        answers = answers_of(database, embedder, config, queries)
        if run_file is not None:
            run_file.write_text(run(answers), encoding="utf-8")
            run_file.with_name(f"{run_file.name}.qrels").write_text(qrels(queries.queries), encoding="utf-8")
        summary = summarize(answers, floor=config.confidence_floor)
        if not as_json:
            click.echo(f"{queries.name}: {len(queries.queries)} queries\n\n{summary_table(summary)}")
        fusions: dict[str, Sequence[Answer]] = {}
        # What embeds the corpus anew comes last; all others are there in a minute.
        parts = [
            search_ablations(database, embedder, config, queries, answers, reranker=reranker) if ablations else (),
            _fusions(database, embedder, config, queries, answers, fusions) if grid else (),
            index_ablations(database, embedder, config, queries, answers) if ablations else (),
        ]
        compared = itertools.chain.from_iterable(parts)
        rows = list(compared) if as_json else []
        if not as_json and (ablations or grid):
            for line in ablation_lines(compared):
                click.echo(line)
    confirmed = _held_out(fusions) if fusions and len(queries.answerable) > 1 else None
    if as_json:
        held = {"held_out": to_json(confirmed)} if confirmed else {}
        click.echo(json.dumps({**_as_json(queries, summary, rows), **held}, ensure_ascii=False))
    elif confirmed:
        click.echo(f"\n{confirmed}\n")


def _judged(settings: Settings, chosen: Path | None) -> JudgedSet:
    path = chosen or settings.judged
    if path is None:
        raise ConfigurationError("no judged queries are configured", remedy="name a file with --judged or in BBJ_JUDGED_FILE")
    queries = load_judged(path)
    if not queries.answerable:
        raise ConfigurationError(f"{path} has negative queries only", remedy="add queries that have an answer")
    return queries


def _fusions(
    database: Database,
    embedder: EmbedOnce,
    config: SearchConfig,
    queries: JudgedSet,
    answers: Sequence[Answer],
    fusions: dict[str, Sequence[Answer]],
) -> Iterator[Ablation]:
    """Yield each fusion compared with the default; their answers are kept in ``fusions``."""
    for name, found in fusion_grid(database, embedder, config, queries):
        fusions[name] = found
        yield ablation(name, found, answers, floor=config.confidence_floor)


def _held_out(fusions: Mapping[str, Sequence[Answer]]) -> HeldOut:
    """Judge the first of the fusions, the one in use."""
    scores = {name: [found[PRIMARY] for found in score_answers(answers).values()] for name, answers in fusions.items()}
    return held_out(scores, next(iter(scores)))


def _as_json(queries: JudgedSet, summary: Summary, rows: Sequence[Ablation]) -> dict[str, object]:
    return {"judged": queries.name, "queries": len(queries.queries), **to_json(summary), "ablations": to_json(rows)}
