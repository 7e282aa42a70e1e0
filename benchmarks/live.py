"""The platform left alone: a real UI process with its daemon, and what it does about exports, requests and changed content.

    python -m benchmarks.live [--port 3999]

Drops a Flare archive in pieces over several ticks, then the same again, then a changed one: one run, none, one, read from the
daemon's own log. Queues a refresh twice under one delivery: one run. Materialises one changed raw export alone: one run of the
five stages below it, started by the automation sensor. What was dropped is then found by search. Takes some ten minutes.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.storage.database import open_database
from bbj_pipeline.storage.refresh_requests import enqueue

SOURCES = """
flare:
  docs: {path: drop/docs.zip, min_tag_coverage: 0}
web_crawl:
  course: {replay: site, min_tag_coverage: 0}
"""
PATIENCE = 300.0
QUIET = 100.0


def archive(word: str) -> bytes:
    """A Flare export of three topics that name ``word``."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        for number in range(3):
            text = f"<h1>Topic {number}</h1><p>{word} {number}: <code>PRINT (sysgui)'WINDOW'(1,2,3,4)</code></p>"
            target.writestr(zipfile.ZipInfo(f"topic{number}.htm"), f"<html><body>{text}</body></html>")
    return packed.getvalue()


@dataclass
class Live:
    """A running platform in a folder of its own."""

    folder: Path
    environment: dict[str, str]

    @property
    def log(self) -> str:
        return (self.folder / "ui.log").read_text(encoding="utf-8", errors="replace")

    def launched(self, sensor: str) -> int:
        """Runs that the daemon says it launched for a sensor."""
        return len(set(re.findall(rf"Completed launch of run (\S+) for {sensor}", self.log)))

    def wait(self, what: str, is_true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_true():
            if time.monotonic() > deadline:
                sys.exit(f"FAILED: {what} did not happen within {PATIENCE:.0f} s\n{self.log[-3000:]}")
            time.sleep(2)
        print(f"ok: {what}", flush=True)

    def command(self, *arguments: str, check: bool = False) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], env=self.environment, cwd=self.folder, capture_output=True, text=True, check=check
        )
        return done.stdout + done.stderr

    def cli(self, *arguments: str) -> str:
        return self.command("-c", "from bbj_pipeline.cli import main; main()", *arguments)


@contextmanager
def platform(folder: Path, port: int) -> Iterator[Live]:
    """Start ``bbj-pipeline ui``; stop it on leaving."""
    data = folder / "data"
    environment = {
        **os.environ,
        "BBJ_DATA_DIR": str(data),
        "BBJ_SOURCES_FILE": str(folder / "sources.yaml"),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    live = Live(folder, environment)
    with (folder / "ui.log").open("w", encoding="utf-8") as log:
        command = [sys.executable, "-c", "from bbj_pipeline.cli import main; main()", "ui", "--port", str(port)]
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield live
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=120)


def drop_slowly(live: Live) -> None:
    content = archive("zanzibar")
    target = live.folder / "drop" / "docs.zip"
    for quarter in (1, 2, 3, 4):
        assert live.launched("flare_export_sensor") == 0, "it fired before the export was complete"
        target.write_bytes(content[: len(content) * quarter // 4])
        time.sleep(20)
    live.wait("an archive dropped in pieces starts one run", lambda: live.launched("flare_export_sensor") == 1)
    live.wait("what was dropped is found", lambda: "zanzibar" in live.cli("search", "zanzibar", "--kind", "flare"))
    target.write_bytes(content)
    time.sleep(QUIET)
    live.wait("the same bytes again start none", lambda: live.launched("flare_export_sensor") == 1)
    target.write_bytes(archive("yokohama"))
    live.wait("a changed archive starts one", lambda: live.launched("flare_export_sensor") == 2)
    live.wait("the change is found", lambda: "yokohama" in live.cli("search", "yokohama", "--kind", "flare"))


def request_twice(live: Live) -> None:
    settings = Settings(data_dir=live.folder / "data")
    with open_database(settings) as database:
        for _ in range(2):
            enqueue(database, InstanceRef("web_crawl", "course"), delivery_id="delivery", reason="push")
    live.wait("a request sent twice starts one run", lambda: live.launched("refresh_request_sensor") == 1)
    live.wait("its instance is served", lambda: "web_crawl/course" in live.cli("status"))


def export_alone(live: Live) -> None:
    home = {"DAGSTER_HOME": str(live.folder / "data" / "dagster")}
    with open_database(Settings(data_dir=live.folder / "data")) as database:
        home["BBJ_DAGSTER_URL"] = database.database_uri_for("dagster").get_secret_value()
        home["BBJ_DATABASE_URL"] = database.url.get_secret_value()
        live.environment.update(home)
        page = live.folder / "site" / "windows-in-four-generations.html"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("</p>", " reykjavik</p>", 1), encoding="utf-8")
        selection = ["--select", 'key:"web_crawl/raw_export"', "--partition", "course"]
        live.command("-m", "dagster", "asset", "materialize", *selection, "-m", "bbj_pipeline.definitions", check=True)
    live.wait(
        "the stages below a changed export run by themselves",
        lambda: "reykjavik" in live.cli("search", "reykjavik", "--kind", "web_crawl"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=3999)
    port = parser.parse_args().port
    folder = Path(tempfile.mkdtemp(prefix="bbj-live-"))
    (folder / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    (folder / "drop").mkdir()
    shutil.copytree(SAMPLES_DIR / "web_crawl" / "dwc-course", folder / "site")
    started = time.monotonic()
    with platform(folder, port) as live:
        live.wait("the daemon looks", lambda: "flare_export_sensor" in live.log)
        drop_slowly(live)
        request_twice(live)
        export_alone(live)
    print(f"all as promised, in {time.monotonic() - started:.0f} s")
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
