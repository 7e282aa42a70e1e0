"""``report`` prints what was stored, without Dagster."""

from __future__ import annotations

from pathlib import Path

from bbj_pipeline.storage.corpus import save_report
from bbj_pipeline.storage.database import Database
from bbj_pipeline_tests.cli.test_cli import call
from bbj_pipeline_tests.paths import ROOT


def test_the_stored_report_is_printed_as_it_is(database: Database, tmp_path: Path) -> None:
    """A report that was made is printed word for word; an unknown name is a mistake that names the known ones."""
    save_report(database, "links", "# Modernisation links\n\nnone\n", {}, "run-1")
    environment = {
        "PYTHONPATH": str(ROOT),
        "BBJ_DATA_DIR": str(tmp_path),
        "BBJ_DATABASE_URL": database.url.get_secret_value(),
    }
    done = call("report", "links", **environment)
    assert (done.returncode, done.stdout) == (0, "# Modernisation links\n\nnone\n")
    mistaken = call("report", "nosuch", **environment)
    assert mistaken.returncode != 0
    assert "health" in mistaken.stderr
