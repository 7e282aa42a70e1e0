"""``rejects``: every document the parsers refused, with its reason, from the stage files of the last run."""

from __future__ import annotations

import json

import click

from bbj_pipeline.cli.run import selected_instances
from bbj_pipeline.orchestration.stage_names import PARSED_TOPICS
from bbj_pipeline.records import Reject
from bbj_pipeline.settings import load_settings
from bbj_pipeline.storage.stage_files import StageStore
from bbj_pipeline.storage.stage_records import PARSED
from bbj_pipeline.storage.stage_units import read_rows

__all__ = ["rejects"]


@click.command("rejects")
@click.argument("sources", nargs=-1, metavar="[KIND[/INSTANCE]]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line for each reject.")
def rejects(sources: tuple[str, ...], as_json: bool) -> None:
    """List the documents that the last run refused, with code and reason; all instances, or only those named."""
    settings = load_settings()
    store = StageStore(settings.store)
    for ref in selected_instances(settings, sources):
        file = store.find(ref, PARSED_TOPICS)
        found = () if file is None else (row.reject for row in read_rows(file, PARSED) if row.reject)
        for reject in found:
            click.echo(
                _json(ref.kind, ref.instance, reject) if as_json else f"{ref} {reject.key}: {reject.code}: {reject.reason}"
            )


def _json(kind: str, instance: str, reject: Reject) -> str:
    shown = {"kind": kind, "instance": instance, "key": reject.key, "code": reject.code, "reason": reject.reason}
    return json.dumps(shown, ensure_ascii=False)
