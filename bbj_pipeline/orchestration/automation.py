"""When the five stages after an export run by themselves: their input's content changed, or their code did.

The clock has no part in this: schedules and sensors run the whole refresh job, and a run of it leaves nothing to request here.
"""

from __future__ import annotations

from typing import Any

import dagster as dg

__all__ = ["build_automation_sensor", "react_to_content"]

_TICK_SECONDS = 30


def react_to_content() -> dg.AutomationCondition[Any]:
    """Return the condition of a stage: run when the data version of an input changed, or the stage's own code version.

    ``AutomationCondition.eager()`` with data versions in place of updates, plus the code version. Its parts, and why nothing
    is requested twice:

    * an input changed by a run that also takes this stage (a nightly, a sensor's or an operator's refresh) does not count;
    * an input that will run on this tick counts, so that one change is one run through all stages below it, in which a stage
      with unchanged input returns the file it has, and blocking checks stand where they always stand;
    * what was requested, or materialised by anyone since, is handled, whatever its data version: the reset is ``eager``'s own;
    * while the stage or an input is in progress nothing is requested, and nothing is forgotten: the change waits.
    """
    condition = dg.AutomationCondition
    changed_input = condition.any_deps_updated().replace("newly_updated", condition.data_version_changed())
    changed: dg.AutomationCondition[Any] = condition.newly_missing() | changed_input | condition.code_version_changed()
    return (
        changed.since_last_handled()
        & ~condition.any_deps_missing()
        & ~condition.any_deps_in_progress()
        & ~condition.in_progress()
    ).with_label("content or code changed")


def build_automation_sensor() -> dg.AutomationConditionSensorDefinition:
    """Build the sensor that evaluates the conditions of all assets; it is on as soon as a daemon is."""
    return dg.AutomationConditionSensorDefinition(
        name="automation_sensor",
        target=dg.AssetSelection.all(),
        minimum_interval_seconds=_TICK_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        # One run an instance, as schedules and sensors start them; a backfill would hide which instance failed.
        emit_backfills=False,
        description="Runs the stages below an export whose content changed, and the stages whose code a deploy changed.",
    )
