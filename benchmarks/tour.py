"""A data engineer's walk through the Dagster UI in a headless browser: it clicks, and fails when a step does not work.

    python -m benchmarks.tour [--pictures DIR]

The sample exports are published, one page twice, and `bbj-pipeline ui` is started over them. Then the Flare archive is damaged:
the broken kind is found among seven, its reason read, the archive mended and the one partition run again; one kind is
backfilled; one instance is rolled back from the launchpad, which its served chunks show. With `--pictures` each step leaves a
picture. Needs the extra `tour` (Playwright) and a Chromium: the system's, or `playwright install chromium`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bbj_pipeline.settings import SAMPLES_DIR
from benchmarks.live import archive
from benchmarks.processes import BIN, Webserver, free_port, started, wait_for

WIDTH, HEIGHT = 1280, 720
LOCATION = "bbj_pipeline.definitions"
GUIDE = "mdx/dwc-guide"
CUT = 5000
"""Bytes of the archive that are there when its copy broke off."""
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]


class Tour:
    """One page of the browser, and the pictures taken of it."""

    def __init__(self, page: Any, web: Webserver, pictures: Path | None, say: Callable[[str], None]) -> None:
        self.page, self.web, self.pictures, self.say = page, web, pictures, say

    def open(self, path: str, text: str) -> None:
        """Open a page of the UI and wait until it shows ``text``."""
        self.page.goto(self.web.url + path, wait_until="domcontentloaded")
        self.see(text)

    def see(self, text: str, *, seconds: float = 60) -> None:
        self.page.get_by_text(text).filter(visible=True).first.wait_for(timeout=seconds * 1000)

    def click(self, role: str, name: str) -> None:
        self.page.get_by_role(role, name=name).first.click()

    def picture(self, name: str, caption: str, *, cut_trace: bool = False) -> None:
        """Say what was reached, and keep a picture of it; with ``cut_trace`` of what stands above a stack trace."""
        self.say(f"{name}: {caption}")
        if self.pictures is None:
            return
        from PIL import Image

        self.page.wait_for_timeout(2500)  # animations end
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": self._above_traces() if cut_trace else HEIGHT}
        shot = Image.open(io.BytesIO(self.page.screenshot(clip=clip))).convert("RGB")
        shot.quantize(256, method=Image.Quantize.FASTOCTREE).save(self.pictures / f"{name}.png", optimize=True)

    def _above_traces(self) -> float:
        """Return where the first stack trace begins that is in sight: the list of events keeps rows above and below it, too."""
        top = self.page.get_by_text("Timestamp", exact=True).first.bounding_box()["y"]
        places = [found.bounding_box() for found in self.page.get_by_text("Stack Trace:").all()]
        return min((place["y"] for place in places if place and top < place["y"] < HEIGHT), default=HEIGHT)


def find_and_mend(tour: Tour, export: Path, good: bytes) -> None:
    """Find the broken kind, read why, mend the export and run its partition again."""
    export.write_bytes(good[:CUT])
    runs = wait_for(
        "the daemon runs the damaged export",
        lambda: [run for run in tour.web.runs("flare_refresh") if run["status"] == "FAILURE"],
        seconds=400,
        pause=3,
    )
    tour.open("/asset-groups", "web_crawl")
    tour.page.wait_for_timeout(8000)  # the statuses of the groups come one after the other
    tour.picture("1-find", "the failed kind among the groups")
    tour.open("/runs", "Failed")
    tour.page.get_by_text("Failed", exact=True).first.click()
    tour.see("flare_refresh")
    tour.page.locator(f'a[href="/runs/{runs[0]["runId"]}"]').first.click()
    for text in (
        "Where:  flare/bbj-docs, raw_export",
        "is not a usable .zip",
        "Remedy: export it again, or point to the folder",
    ):
        tour.see(text)
    tour.picture("2-read", "where, what and the remedy, above the stack trace", cut_trace=True)
    export.write_bytes(good)
    tour.click("button", "Re-execute all")
    tour.page.wait_for_url(lambda url: url != f"{tour.web.url}/runs/{runs[0]['runId']}", timeout=60_000)
    tour.see("Finished execution of run for", seconds=600)
    tour.see("RUN_SUCCESS")
    tour.picture("3-again", "the same partition run again")


def backfill(tour: Tour) -> None:
    """Run all instances of one kind."""
    tour.open(f"/locations/{LOCATION}/asset-groups/wordpress", "pgvector_table")
    tour.click("button", "Materialize all")
    dialog = tour.page.locator("[role=dialog]")
    dialog.get_by_text("All", exact=True).click()
    dialog.get_by_text("2 partitions").wait_for()
    tour.picture("4-backfill", "both WordPress sites at once")
    tour.click("button", "Launch backfill")
    tour.open("/runs?view=backfills", "2 partitions")
    tour.see("Success", seconds=600)


def roll_back(tour: Tour, environment: dict[str, str]) -> None:
    """Bring the earlier publication of the guide back, from the launchpad."""
    before = publications(environment)
    tour.open(f"/locations/{LOCATION}/jobs/rollback/playground", "Launch Run")
    tour.page.get_by_placeholder("Partition").click()
    tour.page.get_by_text(GUIDE, exact=True).last.click()
    tour.see("No errors")
    tour.picture("5-launchpad", "the instance is chosen, its config is written")
    tour.click("button", "Launch Run")
    tour.see("rolled back from publication", seconds=400)
    tour.see("RUN_SUCCESS")
    tour.picture("6-rolled-back", "what the rollback did")
    after = publications(environment)
    tour.say(f"{GUIDE}: {before[0]['counts']['chunks']} chunks served before, {after[0]['counts']['chunks']} after")
    assert after[0]["rolled_back_to"] == before[1]["publication"]
    assert after[0]["counts"]["chunks"] == before[1]["counts"]["chunks"] != before[0]["counts"]["chunks"]


def publications(environment: dict[str, str]) -> list[dict[str, Any]]:
    """Return the kept publications of the guide, the served one first."""
    return [json.loads(line) for line in pipeline(environment, "status", "--publications", GUIDE, "--json").splitlines()]


def pipeline(environment: dict[str, str], *arguments: str) -> str:
    command = [str(BIN / "bbj-pipeline"), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@contextmanager
def browser_page() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(60_000)
        yield page
        browser.close()


def campaign(*, pictures: Path | None = None, say: Callable[[str], None] = print) -> None:
    """Walk through the UI of a platform of its own; raises at the first step that does not work."""
    with tempfile.TemporaryDirectory(prefix="bbj-tour-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        exports = folder / "exports"
        shutil.copytree(SAMPLES_DIR, exports)
        good = archive(with_topic=False)
        (exports / "flare.zip").write_bytes(good)
        sources = (SAMPLES_DIR / "sources.yaml").read_text(encoding="utf-8").replace("path: flare\n", "path: flare.zip\n")
        (exports / "sources.yaml").write_text(sources, encoding="utf-8")
        environment = {
            **os.environ,
            "BBJ_DATA_DIR": str(folder / "data"),
            "BBJ_SOURCES_FILE": str(exports / "sources.yaml"),
        }
        pipeline(environment, "run")
        sorted((exports / GUIDE).rglob("*.md"))[0].unlink()
        pipeline(environment, "run", "--source", GUIDE)
        say("the samples are published, the guide a second time without one page")
        web = Webserver(free_port())
        command = ["bbj-pipeline", "ui", "--port", web.url.rpartition(":")[2]]
        with started("ui", command, environment=environment, folder=folder) as service, browser_page() as page:
            wait_for("the UI answers", lambda: service.require_alive() or web.ready(), seconds=300)
            wait_for("the code location loads", web.location, seconds=180, pause=2)
            tour = Tour(page, web, pictures, say)
            find_and_mend(tour, exports / "flare.zip", good)
            backfill(tour)
            roll_back(tour, environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, help="folder that gets a picture of each step")
    pictures = parser.parse_args().pictures
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
    campaign(pictures=pictures)


if __name__ == "__main__":
    main()
