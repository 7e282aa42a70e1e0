"""The health report finds each kind of damage, and only that, and shows where it is."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace

import pytest

from bbj_pipeline.records import DocumentId
from bbj_pipeline.stages.health import CATEGORIES, Health, Page, judge_health, staleness
from bbj_pipeline.stages.health_report import escape, render_health
from bbj_pipeline.stages.modernisation import KnownDocument, Library

NOW = datetime.datetime(2026, 6, 30, tzinfo=datetime.UTC)


def page(key: str, kind: str = "mdx", instance: str = "guide", **fields: object) -> Page:
    """A healthy page, changed yesterday and linked from the index."""
    sound = Page(
        id=DocumentId(kind, instance, key),
        title=key,
        url=f"https://{instance}.example.org/{key}",
        last_updated=NOW - datetime.timedelta(days=1),
        tagged=True,
        tokens=500,
        chunks=2,
    )
    return replace(sound, **fields)  # type: ignore[arg-type]


def judged(*pages: Page, **found: list[tuple[DocumentId, str]]) -> Health:
    library = Library(KnownDocument(item.id, item.title, item.url) for item in pages)
    return judge_health(pages, library, copies=found.get("copies", []), lost=found.get("lost", []), now=NOW)


def named(health: Health) -> set[tuple[str, str]]:
    return {(finding.category, finding.document.key) for finding in health.findings}


INDEX = page("index.md", links=tuple((name, name) for name in ("a.md", "b.md", "c.md")))
SOUND = (INDEX, page("a.md"), page("b.md"), page("c.md"))


def test_a_sound_corpus_has_no_finding() -> None:
    """Nothing is found where nothing is wrong; every source is counted all the same."""
    health = judged(*SOUND)
    assert health.findings == ()
    assert dict(health.documents) == {"mdx/guide": 4}


@pytest.mark.parametrize(
    ("changed", "category"),
    [
        (page("a.md", last_updated=NOW - datetime.timedelta(days=180)), "stale"),
        (page("a.md", last_updated=None), "undated"),
        (page("a.md", tagged=False), "untagged"),
        (page("a.md", tokens=15_001), "oversized"),
        (page("a.md", links=(("gone", "gone.md"), ("elsewhere", "https://other.example.org/x"))), "broken_links"),
    ],
)
def test_each_damage_is_found(changed: Page, category: str) -> None:
    """One page with one fault is found under that fault alone."""
    assert named(judged(INDEX, changed, *SOUND[2:])) == {(category, "a.md")}


def test_179_days_are_not_stale() -> None:
    """The warning begins at 180 days; the score is a half there, and grows towards one."""
    young = page("a.md", last_updated=NOW - datetime.timedelta(days=179))
    assert named(judged(INDEX, young, *SOUND[2:])) == set()
    days = [staleness(NOW - datetime.timedelta(days=count), NOW) for count in (0, 180, 360, 36_000)]
    assert days[:3] == [0.0, 0.5, 0.75]
    assert 0.999 < days[3] <= 1.0


def test_orphans() -> None:
    """A page that the table of contents leaves out is one unless linked; without one, links must be usual there."""
    left_out = page("lost.md", in_toc=False)
    assert named(judged(*SOUND, left_out)) == {("orphaned", "lost.md")}
    linking = page("a.md", links=(("lost", "lost.md"),))
    assert named(judged(INDEX, linking, *SOUND[2:], left_out)) == set()
    assert named(judged(*SOUND, page("lost.md"))) == {("orphaned", "lost.md")}
    assert named(judged(page("a.md"), page("b.md"), page("lost.md"))) == set()
    assert named(judged(*(page(f"{number}", "wordpress") for number in range(3)))) == set()


def test_contradicting_versions() -> None:
    """Two sources that disagree are both named with what they say; 7.0 and 7.00 agree, and one source has its earliest."""
    one = page("a.md", versions=(("bbjwindow.addpane", "7.00"), ("bbjwindow.addpane", "9.00")))
    agreeing = page("BBjWindow", "javadoc", "api", versions=(("bbjwindow.addpane", "7.0"),))
    other = page("BBjWindow", "javadoc", "api", versions=(("bbjwindow.addpane", "8.00"),))
    assert named(judged(INDEX, one, *SOUND[2:], agreeing)) == set()
    health = judged(INDEX, one, *SOUND[2:], other)
    assert named(health) == {("contradicting_versions", "a.md"), ("contradicting_versions", "BBjWindow")}
    assert health.of("contradicting_versions")[1].detail == "bbjwindow.addpane: since 7.00 here, javadoc/api says 8.00"


def test_what_others_found_is_shown() -> None:
    """Copies and lost relations come in with their sentences."""
    document = SOUND[1].id
    health = judged(*SOUND, copies=[(document, "page like x")], lost=[(document, "related y: dangling")])
    assert named(health) == {("duplicated", "a.md"), ("lost_relations", "a.md")}


def test_the_report_counts_by_source_and_links_the_worst() -> None:
    """Each category has its number, each source its row, each offender its link; text from documents stays text."""
    hostile = page("a.md", title="[x](javascript:alert(1)) | <b>`y`</b>", tagged=False, url="javascript:alert(1)")
    health = judged(INDEX, hostile, *SOUND[2:], page("b", "wordpress", "kb", tagged=False))
    text = render_health(health)
    assert "5 documents of 2 sources on 2026-06-30 00:00 UTC." in text
    assert text.count("\n## ") == len(CATEGORIES)
    assert "## Untagged: 2" in text
    assert "- [b](https://kb.example.org/b) `wordpress/kb/b`: no cue of a generation in 2 chunks" in text
    assert text.count("What to do: ") == sum(bool(health.of(name)) for name in CATEGORIES)
    assert re.search(r"(?<!\\)\]\(javascript", text) is None
    assert "<b>" not in text
    row = next(line for line in text.splitlines() if line.startswith("| wordpress/kb |"))
    assert row.split("|")[4 + list(CATEGORIES).index("untagged")].strip() == "1"


def test_a_long_list_is_cut_and_says_so() -> None:
    """Twenty of fifty are listed, with how many more there are."""
    pages = [page(f"{number}.md", tagged=False, in_toc=True) for number in range(50)]
    text = render_health(judged(*pages))
    assert text.count(" in 2 chunks") == 20
    assert "- … and 30 more" in text
    assert escape("x" * 1000).endswith("…")
