"""The jobs an operator launches by hand: roll an instance back, lift the hold that leaves, prune. Their config is validated.

What they do belongs to ``storage``; here it becomes a run with its result in the UI. Jobs of one instance have the instances as
partitions: choosing one in the launchpad writes the config. A rollback is also reported as a materialisation of the instance's
table, so that everything that follows the table sees that it changed.
"""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the types of config and resources.

from collections.abc import Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from bbj_pipeline.orchestration.failures import classified
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.publication_report import diff_markdown
from bbj_pipeline.orchestration.stage_names import PGVECTOR_TABLE
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.retention import Retention, prune, unconfigured
from bbj_pipeline.storage.rollback import lift_hold, rollback

__all__ = ["LiftHoldConfig", "PruneConfig", "RollbackConfig", "build_operator_jobs"]

_INSTANCE = "The instance, written kind/instance, for example mdx/docs."
_ROLLBACK, _LIFT_HOLD, _PRUNE = "rollback_instance", "lift_instance_hold", "prune_storage"


class RollbackConfig(dg.Config):
    """Which instance goes back, and to which publication."""

    instance: str = Field(description=_INSTANCE)
    to: int | None = Field(default=None, ge=1, description="Number of a kept publication; left out, the one before.")


class LiftHoldConfig(dg.Config):
    """Which instance may publish again what was rolled away."""

    instance: str = Field(description=_INSTANCE)


class PruneConfig(dg.Config):
    """What is removed beyond what the settings no longer keep."""

    instances: list[str] = Field(default_factory=list, description="Instances to remove that are no longer configured.")
    spaces: bool = Field(default=False, description="Also remove the chunks and vectors of models no longer served.")
    dry_run: bool = Field(default=False, description="Only say what would be removed.")


@dg.op(name=_ROLLBACK, description="Make an earlier publication of the instance the served one again.")
def _rollback(context: dg.OpExecutionContext, config: RollbackConfig, platform: dg.ResourceParam[Platform]) -> None:
    with classified(where=f"rollback of {config.instance}"):
        ref = InstanceRef.parse(config.instance)
        result = rollback(platform.database, ref, to=config.to, run_id=context.run_id)
    context.log_event(
        dg.AssetMaterialization(
            dg.AssetKey([ref.kind, PGVECTOR_TABLE]),
            partition=ref.instance,
            description=f"rolled back from publication #{result.rolled_back_from} to #{result.rolled_back_to}: "
            f"{result.inserted} chunks inserted, {result.updated} updated, {result.deleted} deleted; {result.chunks} served",
            tags={"dagster/data_version": f"publication-{result.publication_id}"},
            metadata={
                "status": "rolled back",
                "publication": result.publication_id,
                "rolled_back_to": result.rolled_back_to,
                "rolled_back_from": result.rolled_back_from,
                "inserted": result.inserted,
                "updated": result.updated,
                "deleted": result.deleted,
                "diff": dg.MetadataValue.md(diff_markdown(result.diff)),
            },
        )
    )


@dg.op(name=_LIFT_HOLD, description="Let what a rollback holds back be published again by the next refresh.")
def _lift_hold(context: dg.OpExecutionContext, config: LiftHoldConfig, platform: dg.ResourceParam[Platform]) -> None:
    with classified(where=f"hold of {config.instance}"):
        lifted = lift_hold(platform.database, InstanceRef.parse(config.instance))
    context.add_output_metadata({"lifted": lifted})


@dg.op(name=_PRUNE, description="Remove what the settings no longer keep, and what the config names.")
def _prune(context: dg.OpExecutionContext, config: PruneConfig, platform: dg.ResourceParam[Platform]) -> None:
    settings = platform.settings
    with classified(where="prune"):
        configured = [item.ref for item in load_sources(settings.sources_file)]
        named = [InstanceRef.parse(name) for name in config.instances]
        removals = prune(
            platform.database,
            platform.store,
            retention=Retention(settings.keep_publications, settings.keep_days),
            configured=configured,
            instances=named,
            spaces=config.spaces,
            dry_run=config.dry_run,
        )
        left = [ref for ref in unconfigured(platform.database, configured) if ref not in named]
    listed = "\n".join(f"- {removal}" for removal in removals)
    context.add_output_metadata(
        {
            "dry_run": config.dry_run,
            "removed": dg.MetadataValue.md(listed or "nothing"),
            "served_though_not_configured": ", ".join(map(str, left)) or "none",
        }
    )


def build_operator_jobs(configured: Sequence[InstanceRef]) -> list[dg.JobDefinition]:
    """Build the jobs ``rollback``, ``lift_hold`` and ``prune``; none of them runs by itself."""

    @dg.job(name="rollback", executor_def=dg.in_process_executor, config=_of_instance(_ROLLBACK, configured, to=None))
    def rollback_job() -> None:
        """Make an earlier publication of an instance the served one, without computing anything.

        In the launchpad choose the instance as partition and launch: it goes back by one publication, or to the number in `to`
        (those of `pgvector_table`'s earlier materialisations, or `bbj-pipeline status --publications KIND/INSTANCE`).

        What is rolled away is held: the same content is not published again until the source changes or the hold is lifted.
        """
        _rollback()

    @dg.job(name="lift_hold", executor_def=dg.in_process_executor, config=_of_instance(_LIFT_HOLD, configured))
    def lift_hold_job() -> None:
        """Let the content of an instance that a rollback holds back be published again by the next refresh.

        In the launchpad choose the instance as partition and launch; then run the kind's refresh job, or wait for the night.
        """
        _lift_hold()

    @dg.job(
        name="prune",
        executor_def=dg.in_process_executor,
        config={"ops": {_PRUNE: {"config": {"dry_run": True, "instances": [], "spaces": False}}}},
    )
    def prune_job() -> None:
        """Remove history, vectors and raw bytes beyond what the settings keep, and removed instances that the config names.

        As it stands in the launchpad it only lists what would go (`removed` in the run's output); `dry_run: false` removes it.
        What is served is not touched, except an instance that is named in `instances` and no longer configured.
        """
        _prune()

    return [rollback_job, lift_hold_job, prune_job]


def _of_instance(op: str, configured: Sequence[InstanceRef], **others: Any) -> dg.PartitionedConfig[Any]:
    """Return the config of a job of one instance: a partition an instance, each with its config of ``op`` written out."""

    @dg.static_partitioned_config(partition_keys=[str(ref) for ref in configured])
    def config(instance: str) -> dict[str, Any]:
        return {"ops": {op: {"config": {"instance": instance, **others}}}}

    return config
