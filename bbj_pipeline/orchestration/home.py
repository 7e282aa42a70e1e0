"""Dagster's home on this machine: its folder, its database beside the pipeline's, and the environment it is started in.

The configuration itself is the project's ``dagster.yaml``; it names the two variables set here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from bbj_pipeline.orchestration.pools import set_pool_limits
from bbj_pipeline.settings import Settings, project_file
from bbj_pipeline.sources.registry import source_kinds
from bbj_pipeline.storage.database import Database

__all__ = ["dagster_environment", "dagster_instance", "process_environment"]

DAGSTER_DATABASE = "dagster"
"""Name of Dagster's database beside the pipeline's, on the embedded server."""


def dagster_environment(settings: Settings, database: Database, name: str = DAGSTER_DATABASE) -> dict[str, str]:
    """Prepare Dagster's home below the data folder; return the variables Dagster and its code servers need."""
    home = settings.data_dir / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(project_file("dagster.yaml"), home / "dagster.yaml")
    return {
        "DAGSTER_HOME": str(home),
        "BBJ_DAGSTER_URL": database.ensure_database(name).get_secret_value(),
        "BBJ_DATABASE_URL": database.url.get_secret_value(),
        "BBJ_DATA_DIR": str(settings.data_dir),
        "BBJ_SOURCES_FILE": str(settings.sources_file),
    }


def process_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return this process's environment with ``environment`` on top, for a child process."""
    return {**os.environ, **environment}


@contextmanager
def dagster_instance(settings: Settings, database: Database, name: str = DAGSTER_DATABASE) -> Iterator[dg.DagsterInstance]:
    """Open the Dagster instance of this home in this process, so that its runs are seen in the UI, and set its pool limits."""
    environment = dagster_environment(settings, database, name)
    # Dagster resolves {env: …} of dagster.yaml from the process environment, and nowhere else.
    os.environ.update({name: environment[name] for name in ("DAGSTER_HOME", "BBJ_DAGSTER_URL")})
    with dg.DagsterInstance.from_config(str(Path(environment["DAGSTER_HOME"]))) as instance:
        set_pool_limits(instance, list(source_kinds()))
        yield instance
