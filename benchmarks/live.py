"""The platform alone with its daemon: an export dropped into the watched folder becomes searchable without anyone's help.

    python -m benchmarks.live [--pieces N]

`bbj-pipeline ui` over a fresh data folder; a Flare .zip is copied in slowly, in pieces over several ticks of the sensor, then
the same once more, then a changed one. Then `raw_export` of another instance alone is materialised: a first content, the same,
a changed one; what is below it is the automation's business. Printed are the daemon's own ticks and runs, and what a search
finds. Exits with 1 unless the runs were one, none, one each time and the new topic is found.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bbj_pipeline.settings import SAMPLES_DIR
from benchmarks.processes import BIN, Service, Webserver, free_port, started, wait_for

JOB, SENSOR = "flare_refresh", "flare_export_sensor"
ASSETS, AUTOMATION = "__ASSET_JOB", "automation_sensor"
NOTES = "mdx", "notes"
"""An instance that no sensor takes up: its quiet period is longer than the campaign."""
PAUSE = 20.0
"""Seconds between two pieces: shorter than a tick, so that no two looks see the same unfinished file."""
QUIET_TICKS = 4
"""Ticks without a request after which a campaign believes that there will be none."""
ENDED = ("SUCCESS", "FAILURE", "CANCELED")
TERM = "zwiebelturm"
TOPIC = f"""<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{TERM} Verb</title></head><body>
<h1>{TERM.capitalize()} Verb</h1><h2>Syntax</h2><p>{TERM.upper()} {{(channel)}} {{string}}</p>
<h2>Description</h2><p>The {TERM} verb writes the string to the channel and rings the bell of the terminal.</p>
</body></html>"""


@dataclass
class Outcome:
    """Runs after each of the three copies and exports, and whether the word of the new topic was found before and after."""

    runs: list[int] = field(default_factory=list)
    automated: list[int] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    found_before: bool = False
    found_after: bool = False
    seconds: list[float] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        """Whether everything was as promised."""
        expected = self.runs == self.automated == [1, 0, 1] and set(self.statuses) == {"SUCCESS"}
        return expected and self.found_after and not self.found_before


def archive(*, with_topic: bool) -> bytes:
    """Return the sample Flare export as a .zip, with or without one further topic."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for file in sorted(SAMPLES_DIR.joinpath("flare").rglob("*")):
            if file.is_file():
                target.write(file, file.relative_to(SAMPLES_DIR / "flare").as_posix())
        if with_topic:
            target.writestr(f"commands/{TERM}_verb.htm", TOPIC)
    return buffer.getvalue()


def campaign(*, pieces: int, say: Any = print) -> Outcome:
    """Run the three copies against a platform of its own; return what was seen."""
    outcome = Outcome()
    # Not pytest's or a person's folder: run by root, the embedded server is another user who must reach it.
    with tempfile.TemporaryDirectory(prefix="bbj-live-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        drop = folder / "watched" / "export.zip"
        drop.parent.mkdir()
        kind, notes = NOTES
        (folder / "sources.yaml").write_text(
            f"flare:\n  docs: {{path: watched/export.zip}}\n{kind}:\n  {notes}: {{path: notes, quiet_seconds: 86400}}\n",
            encoding="utf-8",
        )
        environment = {
            **os.environ,
            "BBJ_DATA_DIR": str(folder / "data"),
            "BBJ_SOURCES_FILE": str(folder / "sources.yaml"),
        }
        web = Webserver(free_port())
        command = ["bbj-pipeline", "ui", "--port", web.url.rpartition(":")[2]]
        with started("ui", command, environment=environment, folder=folder) as service:
            watch = _Watch(web, service, say, time.monotonic())
            wait_for("the UI answers", lambda: watch.alive() and web.ready(), seconds=300)
            wait_for("the code location loads", web.location, seconds=180, pause=2)
            watch.say("the daemon runs; nothing is in the watched folder")
            for step, content, parts in (
                ("first copy", archive(with_topic=False), pieces),
                ("the same again", archive(with_topic=False), 2),
                ("a changed one", archive(with_topic=True), 2),
            ):
                if step == "a changed one":
                    outcome.found_before = found(environment)
                before = len(web.runs(JOB))
                begun = time.monotonic()
                copy_slowly(
                    drop, content, parts, lambda step=step: watch.say(f"{step}: {drop.stat().st_size:,} bytes are there")
                )
                watch.until_settled(before)
                outcome.seconds.append(round(time.monotonic() - begun, 1))
                runs = web.runs(JOB)
                outcome.runs.append(len(runs) - before)
                outcome.statuses += [run["status"] for run in runs[: len(runs) - before]]
                watch.say(f"{step}: {len(runs) - before} runs")
            outcome.found_after = found(environment)
            watch.say(f"search for the new topic: before {outcome.found_before}, after {outcome.found_after}")
            watch.history()
            (folder / "notes").mkdir()
            for step, word in (("an export alone", "one"), ("the same export", "one"), ("a changed export", "two")):
                (folder / "notes" / "windows.md").write_text(
                    f"# Windows\n\nA window holds controls, {word}.\n", encoding="utf-8"
                )
                runs = watch.export_alone()
                outcome.automated.append(len(runs))
                outcome.statuses += [run["status"] for run in runs]
                watch.say(f"{step}: {len(runs)} runs by {AUTOMATION} of what is below it")
    return outcome


def copy_slowly(target: Path, content: bytes, parts: int, tell: Any) -> None:
    """Write a file as a slow copy does: begun anew, growing piece by piece under its own name."""
    size = -(-len(content) // parts)
    with target.open("wb") as file:
        for start in range(0, len(content), size):
            file.write(content[start : start + size])
            file.flush()
            tell()
            if start + size < len(content):
                time.sleep(PAUSE)


def found(environment: dict[str, str]) -> bool:
    """Whether a search for the new word gives its topic first."""
    done = subprocess.run(
        [str(BIN / "bbj-pipeline"), "search", "--json", TERM], env=environment, capture_output=True, text=True, check=True
    )
    hits = json.loads(done.stdout)["hits"]
    return bool(hits) and TERM in json.dumps(hits[0]).lower()


@dataclass
class _Watch:
    """Looks at the daemon through the webserver, and says what it saw with the time since the start."""

    web: Webserver
    service: Service
    told: Any
    begun: float

    def say(self, text: str) -> None:
        self.told(f"{time.monotonic() - self.begun:6.0f} s  {text}")

    def alive(self) -> bool:
        self.service.require_alive()
        return True

    def until_settled(self, runs_before: int) -> None:
        """Wait until a new run has ended, or until enough ticks have passed that asked for none."""
        self._until_settled(SENSOR, lambda: self.web.runs(JOB)[: len(self.web.runs(JOB)) - runs_before])

    def export_alone(self) -> list[dict[str, Any]]:
        """Materialise the export of NOTES and nothing else; return the runs of the instance that followed, all ended."""
        kind, notes = NOTES
        location = wait_for("the code location is there", self.web.location, seconds=180, pause=2)
        earlier = {run["runId"] for run in self._runs_of(notes)}
        own = self.web.launch(location, ASSETS, notes, [[kind, "raw_export"]])

        def ended() -> bool:
            self.alive()
            return all(run["status"] in ENDED for run in self._runs_of(notes) if run["runId"] == own)

        def following() -> list[dict[str, Any]]:
            return [run for run in self._runs_of(notes) if run["runId"] not in earlier | {own}]

        wait_for("the export has ended", ended, seconds=600, pause=2)
        self._until_settled(AUTOMATION, following)
        return following()

    def _runs_of(self, partition: str) -> list[dict[str, Any]]:
        tag = {"key": "dagster/partition", "value": partition}
        return [run for run in self.web.runs(ASSETS) if tag in run["tags"]]

    def _until_settled(self, sensor: str, new_runs: Callable[[], list[dict[str, Any]]]) -> None:
        ticks = self._ticks(sensor)
        first = ticks[0]["timestamp"] if ticks else 0.0

        def settled() -> bool:
            self.alive()
            new = new_runs()
            if new:
                return all(run["status"] in ENDED for run in new)
            return sum(tick["timestamp"] > first for tick in self._ticks(sensor)) > QUIET_TICKS

        wait_for("the daemon has done what it will", settled, seconds=900, pause=3)

    def history(self) -> None:
        """Print the daemon's ticks of the sensor that asked for a run, and its runs."""
        ticks = self._ticks(SENSOR)
        self.say(f"{len(ticks)} ticks of {SENSOR}, {sum(bool(tick['runIds']) for tick in ticks)} of them asked for a run")
        for run in reversed(self.web.runs(JOB)):
            tags = {tag["key"]: tag["value"] for tag in run["tags"]}
            asked = tags.get("dagster/sensor_name", "somebody")
            took = (run["endTime"] or 0) - (run["startTime"] or 0)
            self.say(f"run {run['runId'][:8]} of {tags.get('dagster/partition')} by {asked}: {run['status']} in {took:.0f} s")

    def _ticks(self, sensor: str) -> list[dict[str, Any]]:
        location = self.web.location()
        selector = {"repositoryLocationName": location, "repositoryName": "__repository__", "sensorName": sensor}
        answer = self.web.ask(
            "query($s: SensorSelector!){sensorOrError(sensorSelector:$s){__typename "
            "... on Sensor{sensorState{ticks(limit:500){timestamp status runIds}}}}}",
            s=selector,
        )["sensorOrError"]
        ticks: list[dict[str, Any]] = answer["sensorState"]["ticks"]
        return ticks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pieces", type=int, default=5, help="pieces of the first copy, 20 seconds apart")
    outcome = campaign(pieces=parser.parse_args().pieces)
    print(f"runs {outcome.runs}, by automation {outcome.automated}, {outcome.statuses}; seconds {outcome.seconds}")
    print("kept" if outcome.kept else "BROKEN")
    sys.exit(0 if outcome.kept else 1)


if __name__ == "__main__":
    main()
