"""``provenance``: where a served chunk comes from, and whether the raw bytes it was made from are still what they were."""

from __future__ import annotations

from typing import BinaryIO

import click

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.settings import load_settings
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.provenance import Provenance
from bbj_pipeline.storage.provenance import provenance as find
from bbj_pipeline.storage.stage_files import StageStore

__all__ = ["provenance"]


@click.command("provenance")
@click.argument("chunk_id")
@click.option("--raw", type=click.File("wb"), help="Write the raw document here; - is standard output.")
def provenance(chunk_id: str, raw: BinaryIO | None) -> None:
    """Print where the served chunk CHUNK_ID comes from, and verify its raw bytes against their hash."""
    settings = load_settings()
    with open_database(settings) as database:
        found = find(database, chunk_id)
    content, where = _raw_bytes(StageStore(settings.store), found)
    if raw is not None:
        raw.write(content)
    for name, value in _lines(found):
        click.echo(f"{name:<16} {value}", err=raw is not None)
    click.echo(f"{'raw bytes':<16} {len(content):,}, SHA-256 verified, at {where}", err=raw is not None)


def _raw_bytes(store: StageStore, found: Provenance) -> tuple[bytes, str]:
    """Return the raw document's bytes and where they lie; the store compares them with their hash as it reads."""
    if found.raw_sha256 is None:
        raise RejectedInput(f"no raw document is recorded for {found.chunk_id}", remedy="run its instance again")
    try:
        return store.blobs.get(found.raw_sha256), store.blobs.locate(found.raw_sha256)
    except KeyError:
        raise RejectedInput(
            f"the raw bytes {found.raw_sha256} of {found.raw_key!r} are not at {store.blobs.locate(found.raw_sha256)}",
            remedy="set BBJ_STORE_URL or BBJ_DATA_DIR to where the instance was run, or run it again",
        ) from None


def _lines(found: Provenance) -> list[tuple[str, object]]:
    return [
        ("chunk", found.chunk_id),
        ("instance", f"{found.kind}/{found.instance}"),
        ("document", found.doc_key),
        ("title", found.title),
        ("source url", found.source_url or "none"),
        ("raw document", found.raw_key),
        ("raw SHA-256", found.raw_sha256),
        ("parser", found.parser_version or "not recorded"),
        ("tagger", found.tagger_version or "not recorded"),
        ("chunker", found.chunker_version or "not recorded"),
        ("embedder", f"{found.embedding_fingerprint} (code {found.embedder_version or 'not recorded'})"),
        ("Dagster run", found.run_id),
        (
            "publication",
            f"{found.publication_id} of {found.published_at:%Y-%m-%d %H:%M}; served by {found.current_publication_id}",
        ),
    ]
