"""``doctor``: looks at each part of an installation and says, for what is wrong, what to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from bbj_pipeline.errors import ConfigurationError, PipelineError
from bbj_pipeline.models import load_embedder, load_reranker, load_tokenizer
from bbj_pipeline.settings import Settings, load_settings, unknown_variables
from bbj_pipeline.sources.config import ConfiguredInstance, load_sources
from bbj_pipeline.sources.contract import NOTHING_EARLIER
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.file_store import FileStore
from bbj_pipeline.storage.migrations import migrate

__all__ = ["doctor"]


@click.command("doctor")
def doctor() -> None:
    """Check settings, sources, definitions, exports, file store, database and models; exit code 1 if anything is wrong."""
    settings = load_settings()
    checks: list[tuple[str, Callable[[], str]]] = [
        ("settings", _settings),
        ("sources file", lambda: f"{len(load_sources(settings.sources_file))} instances in {settings.sources_file}"),
        ("file store", lambda: _store(settings)),
        ("database", lambda: _database(settings)),
        ("tokenizer", lambda: load_tokenizer(settings).name),
        ("embedding model", lambda: _model(settings)),
        ("reranker", lambda: _reranker(settings)),
    ]
    sound = {name: _report(name, check) for name, check in checks}
    if sound["sources file"]:
        sound["definitions"] = _report("definitions", lambda: _definitions(settings))
        sound |= {str(item.ref): _report(str(item.ref), partial(_export, item)) for item in load_sources(settings.sources_file)}
    if not all(sound.values()):
        raise click.exceptions.Exit(1)


def _report(name: str, check: Callable[[], str]) -> bool:
    try:
        click.echo(f"ok     {name}: {check()}")
    except PipelineError as error:
        click.echo(f"WRONG  {name}: {error}")
        return False
    return True


def _settings() -> str:
    if unknown := unknown_variables():
        raise ConfigurationError(
            f"{', '.join(unknown)} in the environment: no such setting, so it is ignored",
            remedy="correct the name (the README's table has all of them), or unset it",
        )
    return "every BBJ_ variable is one"


def _store(settings: Settings) -> str:
    files = FileStore(settings.store)
    files.write("doctor", b"written by bbj-pipeline doctor")
    files.discard("doctor")
    return f"{settings.store} can be written"


def _database(settings: Settings) -> str:
    with open_database(settings) as database:
        applied = migrate(database)
        return f"{database.where}, {f'{len(applied)} migrations applied' if applied else 'schema is current'}"


def _model(settings: Settings) -> str:
    """Embed a word: only then are the weights read."""
    embedder = load_embedder(settings)
    return f"{embedder.fingerprint} gives vectors of {len(embedder.embed_query('doctor'))} numbers"


def _reranker(settings: Settings) -> str:
    """Score a pair, where there is a cross-encoder."""
    reranker = load_reranker(settings)
    if reranker is None:
        return "off"
    reranker.warm()
    return f"{reranker.name} scores pairs of {reranker.window} tokens"


def _definitions(settings: Settings) -> str:
    """Build what Dagster loads: only then are schedules read and names compared."""
    from bbj_pipeline.orchestration.build import build_definitions  # Dagster takes seconds to import

    definitions = build_definitions(settings)
    repository = definitions.get_repository_def()
    return f"{len(definitions.resolve_all_asset_keys())} assets, {len(repository.schedule_defs)} schedules"


def _export(instance: ConfiguredInstance) -> str:
    """Read the listing up to its first document: the export is there and can be read."""
    first = next(iter(instance.source.export(instance.options, NOTHING_EARLIER)), None)
    return "the export is empty" if first is None else f"first document {first.key}"
