"""Who may work at the same time, and with how much: Dagster's pools, their limits and slots, and the Kubernetes resources.

A pool's limit is kept in Dagster's storage and not in its configuration, where only the limit of all others stands (1, in
``dagster.yaml``); so the limits are set by whoever opens the instance first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from bbj_pipeline.orchestration.stage_names import EMBEDDINGS, PARSED_TOPICS

__all__ = [
    "EMBEDDER_POOL",
    "HEAVY",
    "PGVECTOR_WRITE_POOL",
    "export_pool",
    "free_slots_of_ended_runs",
    "full_pools",
    "set_pool_limits",
]

EMBEDDER_POOL = "embedder"
"""One at a time: a model uses all cores, and two hold its weights twice."""
PGVECTOR_WRITE_POOL = "pgvector_write"
"""Two at a time: instances are published independently, and each holds a transaction and its temporary tables."""

_LIMITS = {EMBEDDER_POOL: 1, PGVECTOR_WRITE_POOL: 2}
_UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def export_pool(kind: str) -> str:
    """Return the pool of a kind's exports: one at a time, so that two instances never load one server together."""
    return f"{kind}_export"


def set_pool_limits(instance: dg.DagsterInstance, kinds: list[str]) -> dict[str, int]:
    """Set the limits of all pools, each time anew; return them. A storage without pools (in memory) is left alone.

    A limit that an operator changed in the UI lasts until the next start: limits are reviewed code.
    """
    storage = instance.event_log_storage
    limits = _LIMITS | {export_pool(kind): 1 for kind in kinds}
    if not storage.supports_global_concurrency_limits:
        return {}
    current = {pool.name: pool.limit for pool in storage.get_pool_limits() if not pool.from_default}
    for pool, limit in limits.items():
        if current.get(pool) != limit:
            storage.set_concurrency_slots(pool, limit)
    return limits


def free_slots_of_ended_runs(instance: dg.DagsterInstance) -> list[str]:
    """Give back the pool slots of runs that have ended or are gone; return the ids of these runs.

    The daemon does so too, a minute after a run's end; ``bbj-pipeline run`` works without a daemon.
    """
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return []
    holders: set[str] = set()
    for pool in storage.get_concurrency_keys():
        info = storage.get_concurrency_info(pool)
        holders |= {slot.run_id for slot in info.claimed_slots} | {step.run_id for step in info.pending_steps}
    if not holders:
        return []
    alive = {run.run_id for run in instance.get_runs(dg.RunsFilter(run_ids=sorted(holders), statuses=_UNFINISHED))}
    ended = sorted(holders - alive)
    for run_id in ended:
        storage.free_concurrency_slots_for_run(run_id)
    return ended


def full_pools(instance: dg.DagsterInstance, kind: str) -> dict[str, str]:
    """Return which of the pools that a refresh of ``kind`` passes through are full, each with the id of a run that holds it."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return {}
    pools = {name: storage.get_concurrency_info(name) for name in (export_pool(kind), EMBEDDER_POOL, PGVECTOR_WRITE_POOL)}
    return {
        name: info.claimed_slots[0].run_id
        for name, info in pools.items()
        if info.claimed_slots and len(info.claimed_slots) >= info.slot_count
    }


def _resources(*, cpu: str, memory: str, limit: str) -> Mapping[str, Any]:
    wanted = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": limit}}
    return {"dagster-k8s/config": {"container_config": {"resources": wanted}}}


HEAVY: Mapping[str, Mapping[str, Any]] = {
    PARSED_TOPICS: _resources(cpu="1", memory="1Gi", limit="2Gi"),
    EMBEDDINGS: _resources(cpu="2", memory="2Gi", limit="4Gi"),
}
"""What a stage needs in Kubernetes. Memory is flat in the size of the corpus; a model and its batches are the largest part.

A run's pod gets the most of them from the launcher's own configuration, since all stages of an instance run in it.
"""
