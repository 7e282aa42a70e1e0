"""Says when an instance is stale: no refresh has reached its served table for longer than its schedule allows.

A check of each instance, which a publication passes and a sensor evaluates meanwhile, and Dagster's policy of each kind. An
unchanged content is fresh: what counts is that someone looked.
"""

# Annotations stay real here (no `from __future__ import annotations`): Dagster reads the type of the context.

import datetime
from collections.abc import Callable, Iterator, Sequence

import dagster as dg

from bbj_pipeline.orchestration.calendar import cadence, longest_pause
from bbj_pipeline.orchestration.stage_names import PGVECTOR_TABLE
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.sources.config import ConfiguredInstance

__all__ = [
    "CHECK_NAME",
    "build_freshness_check",
    "build_freshness_sensor",
    "freshness_policy",
    "last_published",
    "longest_age",
    "verdict",
]

CHECK_NAME = "fresh"
_GRACE = datetime.timedelta(hours=2)
"""What a run may take, queue and retries included, before its instance counts as stale."""
_TICK_SECONDS = 300

Now = Callable[[], datetime.datetime]


def longest_age(item: ConfiguredInstance, now: datetime.datetime) -> datetime.timedelta:
    """Return how old the last publication of an instance may be: ``max_age_hours``, or its schedule's longest pause and 2 h."""
    if item.options.max_age_hours is not None:
        return datetime.timedelta(hours=item.options.max_age_hours)
    return longest_pause(*cadence(item.options), now) + _GRACE


def freshness_policy(instances: Sequence[ConfiguredInstance]) -> dg.FreshnessPolicy | None:
    """Return the policy of a kind, as Dagster shows it on the table: the most patient of its instances decides."""
    now = datetime.datetime.now(datetime.UTC)
    ages = [longest_age(item, now) for item in instances]
    return dg.FreshnessPolicy.time_window(fail_window=max(ages)) if ages else None


def last_published(instance: dg.DagsterInstance, ref: InstanceRef) -> datetime.datetime | None:
    """Return when a refresh last reached the served table of ``ref``; ``None`` when none ever did."""
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey([ref.kind, PGVECTOR_TABLE]), asset_partitions=[ref.instance])
    found = instance.fetch_materializations(wanted, limit=1).records
    return datetime.datetime.fromtimestamp(found[0].timestamp, datetime.UTC) if found else None


def verdict(item: ConfiguredInstance, published: datetime.datetime | None, now: datetime.datetime) -> tuple[bool, str]:
    """Return whether an instance is fresh, and the sentence that says so with the remedy."""
    limit = longest_age(item, now)
    if published is None:
        return True, "it was never published, so nothing can be stale"
    age = now - published
    hours, allowed = age.total_seconds() / 3600, limit.total_seconds() / 3600
    if age <= limit:
        return True, f"its last refresh reached the served table {hours:.1f} hours ago; {allowed:g} are allowed"
    return False, (
        f"no refresh has reached the served table for {hours:.1f} hours, {allowed:g} are allowed; what is served is from then. "
        "Remedy: read why its runs fail, wait or do not start, or raise max_age_hours in sources.yaml"
    )


def build_freshness_check(
    *, kind: str, instances: Sequence[ConfiguredInstance], partitions: dg.PartitionsDefinition[str], now: Now
) -> dg.AssetChecksDefinition:
    """Build the check ``fresh`` of a kind's served table, per instance. It warns and blocks nothing."""
    by_name = {item.ref.instance: item for item in instances}

    @dg.asset_check(
        asset=[kind, PGVECTOR_TABLE],
        name=CHECK_NAME,
        partitions_def=partitions,
        description="A refresh reached the served table within the time its schedule allows.",
    )
    def fresh(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        item = by_name[context.partition_key]
        passed, description = verdict(item, last_published(context.instance, item.ref), now())
        return dg.AssetCheckResult(passed=passed, severity=dg.AssetCheckSeverity.WARN, description=description)

    return fresh


def build_freshness_sensor(*, instances: Sequence[ConfiguredInstance], now: Now) -> dg.SensorDefinition:
    """Build the sensor that records the check ``fresh`` when an instance becomes stale, without a run: nothing runs then."""

    def evaluate(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        stale = set((context.cursor or "").split()) & {str(item.ref) for item in instances}
        events = list(_changes(context.instance, instances, stale, now()))
        for event in events:
            (stale.discard if event.passed else stale.add)(f"{event.asset_key.path[0]}/{event.partition}")
        skip = f"stale: {', '.join(sorted(stale))}" if stale else "every instance is fresh"
        # Never empty: Dagster takes an empty cursor for none given, and keeps the one before.
        return dg.SensorResult(asset_events=events, cursor=" ".join(["stale:", *sorted(stale)]), skip_reason=skip)

    return dg.SensorDefinition(
        name="freshness_sensor",
        evaluation_fn=evaluate,
        minimum_interval_seconds=_TICK_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Marks an instance as stale when no refresh has reached its served table in time.",
    )


def _changes(
    instance: dg.DagsterInstance, instances: Sequence[ConfiguredInstance], stale: set[str], now: datetime.datetime
) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield an evaluation for each instance that became stale, or fresh again, since the last look."""
    for item in instances:
        passed, description = verdict(item, last_published(instance, item.ref), now)
        if passed == (str(item.ref) in stale):
            yield dg.AssetCheckEvaluation(
                asset_key=dg.AssetKey([item.ref.kind, PGVECTOR_TABLE]),
                check_name=CHECK_NAME,
                passed=passed,
                severity=dg.AssetCheckSeverity.WARN,
                description=description,
                partition=item.ref.instance,
            )
