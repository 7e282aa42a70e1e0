"""What the UI shows of a publication: its diff, what is kept or withheld, what is held back; and what a run may allow it.

Turns the outcome of the publishing step into Dagster's values; nothing is decided or written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
from pydantic import Field

from bbj_pipeline.orchestration.steps.publish import PublishOutcome
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.storage.diffs import Diff, DocumentChanges

__all__ = ["PublishConfig", "diff_markdown", "held_result", "publication_metadata", "withheld_result"]


class PublishConfig(dg.Config):
    """What one run may do with the served table."""

    approve_deletions: bool = Field(
        default=False, description="Delete in this run what the deletion guard would withhold. Look at the withheld list first."
    )


def publication_metadata(outcome: PublishOutcome) -> dict[str, Any]:
    """Return what the UI shows of a publication beside its counts."""
    shown: dict[str, Any] = {
        "status": outcome.status,
        "publication": outcome.publication_id,
        "withheld": len(outcome.withheld),
        "kept": len(outcome.kept),
    }
    if outcome.status == "published":
        shown["diff"] = dg.MetadataValue.md(diff_markdown(outcome.diff))
    if outcome.kept:
        listed = "\n".join(f"- `{key}`" for key in outcome.kept[:100])
        shown["kept_documents"] = dg.MetadataValue.md(f"Rejected now, served as they were:\n\n{listed}")
    return shown


def withheld_result(outcome: PublishOutcome, ref: InstanceRef, *, complete: bool) -> dg.AssetCheckResult:
    """Return the check of a publication's deletions: it fails with the list of documents whose deletion waits."""
    if not outcome.withheld:
        return dg.AssetCheckResult(check_name="nothing_withheld", passed=True, description="no deletion waits")
    reason = "too many vanished at once" if complete else "not everything could be fetched"
    listed = "\n".join(f"- `{key}`" for key in outcome.withheld[:100])
    return dg.AssetCheckResult(
        check_name="nothing_withheld",
        passed=False,
        description=f"{len(outcome.withheld)} documents are gone from the export and stay served, because {reason}. "
        f"Remedy: restore the export and run again, or approve this once: in the launchpad of {ref.kind}_refresh choose the "
        f"partition and write approve_deletions: true, or bbj-pipeline run --source {ref} --approve-deletions {ref}",
        metadata={"withheld": len(outcome.withheld), "documents": dg.MetadataValue.md(listed)},
    )


def held_result(outcome: PublishOutcome) -> dg.AssetCheckResult:
    """Return the check of a hold: it warns when this content was rolled away and is therefore not published."""
    if outcome.status != "held":
        return dg.AssetCheckResult(check_name="nothing_held", passed=True, description="no content is held back")
    return dg.AssetCheckResult(
        check_name="nothing_held",
        passed=False,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"held back by rollback to #{outcome.rolled_back_to}; new content or approval publishes again. "
        "Remedy: correct the source, or lift the hold: job lift_hold, or bbj-pipeline rollback --lift",
        metadata={"publication": outcome.publication_id},
    )


def diff_markdown(diff: Diff) -> str:
    """Return the changed documents as Markdown tables, one for each sort of change."""
    parts = [
        "\n".join(_table(label, changes))
        for label, changes in (("added", diff.added), ("changed", diff.changed), ("removed", diff.removed))
        if changes.documents
    ]
    return "\n\n".join(parts) or "no served chunk changed"


def _table(label: str, changes: DocumentChanges) -> Iterator[str]:
    yield f"**{changes.documents} documents {label}**, {changes.chunks} chunks"
    yield ""
    yield "| document | inserted | updated | deleted |"
    yield "| --- | ---: | ---: | ---: |"
    for change in changes.first:
        key = change.doc_key.replace("|", "\\|").replace("`", "'")
        yield f"| `{key}` | {change.inserted} | {change.updated} | {change.deleted} |"
    if changes.documents > len(changes.first):
        yield f"| … and {changes.documents - len(changes.first)} more | | | |"
