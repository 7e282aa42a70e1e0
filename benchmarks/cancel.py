"""A run cancelled from the UI in the middle of its longest stage: nothing stays taken, nothing stays half done.

    python -m benchmarks.cancel [--pages N]

`bbj-pipeline ui` over a fresh data folder and one instance of N pages. A refresh is launched, and while its vectors are being
computed it is terminated as the UI's *Terminate* does (GraphQL, the default policy). It must end as CANCELED, publish nothing,
leave no draft of a stage file, and give its place in the embedder's pool back. The next refresh must publish what is there
then, a few of the pages.
Exits with 1 when anything did not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.processes import BIN, Webserver, free_port, started, wait_for

JOB, KIND, NAME = "mdx_refresh", "mdx", "pages"
ENDED = ("SUCCESS", "FAILURE", "CANCELED")
FEW = 20
"""Pages that are still there at the second refresh, which need not take long."""


@dataclass
class Outcome:
    """What was seen after the cancel and after the run that followed it."""

    status: str = ""
    seconds_to_end: float = 0.0
    seconds_to_slot: float = 0.0
    drafts: list[str] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    published: list[dict[str, Any]] = field(default_factory=list)
    attempts: int = 0
    next_status: str = ""
    next_documents: int = 0
    drafts_at_the_end: list[str] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        """Whether everything was as promised."""
        half_state = self.drafts or self.published or self.drafts_at_the_end or "embeddings.parquet" in self.stages
        ended = self.status == "CANCELED" and self.attempts == 1 and "chunks.parquet" in self.stages
        return bool(ended and not half_state and self.next_status == "SUCCESS" and self.next_documents == FEW)


def campaign(*, pages: int, say: Callable[[str], None] = print) -> Outcome:
    """Cancel one run, let another one follow; return what was seen."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="bbj-cancel-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "pages").mkdir()
        for number in range(pages):
            words = " ".join(f"word{number}x{index}" for index in range(60))
            (folder / "pages" / f"{number}.md").write_text(f"# Page {number}\n\n{words}.\n", encoding="utf-8")
        (folder / "sources.yaml").write_text(f"{KIND}:\n  {NAME}: {{path: pages, quiet_seconds: 86400}}\n", encoding="utf-8")
        environment = {
            **os.environ,
            "BBJ_DATA_DIR": str(folder / "data"),
            "BBJ_SOURCES_FILE": str(folder / "sources.yaml"),
        }
        web = Webserver(free_port())
        command = ["bbj-pipeline", "ui", "--port", web.url.rpartition(":")[2]]
        with started("ui", command, environment=environment, folder=folder) as service:
            wait_for("the UI answers", lambda: service.require_alive() or web.ready(), seconds=300)
            location = wait_for("the code location loads", web.location, seconds=180, pause=2)
            run = web.launch(location, JOB, NAME)
            wait_for("its vectors are computed", lambda: drafts(folder, "embeddings."), seconds=400, pause=0.2)
            time.sleep(5)
            assert drafts(folder, "embeddings."), "computed before it could be cancelled: more pages"
            begun = time.monotonic()
            terminate(web, run)
            outcome.status = ended(web, run)
            outcome.seconds_to_end = round(time.monotonic() - begun, 1)
            say(f"terminated while vectors were computed: {outcome.status} after {outcome.seconds_to_end} s")
            wait_for("its place in the pool is free", lambda: claimed(web) == 0, seconds=150)
            outcome.seconds_to_slot = round(time.monotonic() - begun, 1)
            outcome.drafts, outcome.attempts = drafts(folder), attempts(web, run)
            outcome.stages = sorted(path.name for path in stages(folder).glob("*.parquet"))
            outcome.published = publications(environment)
            say(f"place free after {outcome.seconds_to_slot} s; {outcome.attempts} attempt; drafts left {outcome.drafts}")
            say(f"stage files {outcome.stages}; publications {outcome.published}")
            for number in range(FEW, pages):
                (folder / "pages" / f"{number}.md").unlink()
            outcome.next_status = ended(web, web.launch(location, JOB, NAME))
            found = publications(environment)
            outcome.next_documents = found[0]["counts"]["documents"] if found else 0
            outcome.drafts_at_the_end = drafts(folder)
            say(f"the next run: {outcome.next_status}, {outcome.next_documents} documents served")
    return outcome


def stages(folder: Path) -> Path:
    """Return the folder of the instance's stage files."""
    return folder / "data" / "store" / "stages" / KIND / NAME


def drafts(folder: Path, begin: str = "") -> list[str]:
    """Return the names of the instance's drafts that begin so."""
    return sorted(path.name for path in stages(folder).glob(f"{begin}*.tmp"))


def terminate(web: Webserver, run: str) -> None:
    """Terminate a run as the button of its page does."""
    answer = web.ask("mutation($run: String!){terminateRun(runId:$run){__typename ... on PythonError{message}}}", run=run)[
        "terminateRun"
    ]
    if answer["__typename"] != "TerminateRunSuccess":
        raise RuntimeError(str(answer))


def ended(web: Webserver, run: str) -> str:
    """Wait until a run has ended; return its status."""

    def status() -> str | None:
        found = next((str(other["status"]) for other in web.runs(JOB) if other["runId"] == run), None)
        return found if found in ENDED else None

    return str(wait_for("the run ends", status, seconds=900))


def claimed(web: Webserver) -> int:
    """Return how many places of the embedder's pool are taken."""
    answer = web.ask('{instance{concurrencyLimit(concurrencyKey:"embedder"){activeSlotCount}}}')
    return int(answer["instance"]["concurrencyLimit"]["activeSlotCount"])


def attempts(web: Webserver, run: str) -> int:
    """Return how often the stage was begun in a run: a cancelled one is not tried again."""
    answer = web.ask("query($run: ID!){runOrError(runId:$run){... on Run{stepStats{stepKey attempts{startTime}}}}}", run=run)
    steps = answer["runOrError"]["stepStats"]
    return sum(len(step["attempts"]) for step in steps if step["stepKey"].endswith("embeddings"))


def publications(environment: dict[str, str]) -> list[dict[str, Any]]:
    """Return the publications of the instance, the served one first."""
    command = [str(BIN / "bbj-pipeline"), "status", "--publications", f"{KIND}/{NAME}", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1000, help="pages of the instance, one chunk each")
    outcome = campaign(pages=parser.parse_args().pages)
    print(outcome)
    print("kept" if outcome.kept else "BROKEN")
    sys.exit(0 if outcome.kept else 1)


if __name__ == "__main__":
    main()
