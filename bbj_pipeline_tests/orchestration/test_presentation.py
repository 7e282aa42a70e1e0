"""What a data engineer sees in the UI: of every stage before it ran, and of every materialisation after."""

from __future__ import annotations

import base64
import re
import struct
from pathlib import Path

import dagster as dg
import pytest
import yaml

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.presentation.columns import column_schema
from bbj_pipeline.orchestration.presentation.materialisations import numbers
from bbj_pipeline.orchestration.presentation.plots import MAX_PNG, stage_seconds, token_histogram
from bbj_pipeline.orchestration.presentation.text import MAX_CELL, cell, link, without_credentials
from bbj_pipeline.orchestration.stage_names import STAGES
from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.database import Database
from bbj_pipeline_tests.orchestration.conftest import Refresh
from bbj_pipeline_tests.paths import ROOT

PNG = re.compile(r"!\[[^\]]+\]\(data:image/png;base64,([A-Za-z0-9+/=]+)\)")


def picture(markdown: object) -> bytes:
    found = PNG.fullmatch(str(markdown))
    assert found is not None
    return base64.b64decode(found[1])


def materialisation(instance: dg.DagsterInstance, kind: str, stage: str) -> dict[str, object]:
    event = instance.get_latest_materialization_event(dg.AssetKey([kind, stage]))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


@pytest.fixture(scope="module")
def specs() -> dict[str, dg.AssetSpec]:
    settings = Settings(
        sources_file=SAMPLES_DIR / "sources.yaml",
        asset_owners="team:docs, ada@example.org",
        source_code_url="https://git.example.org/bbj/blob/v1/",
    )
    return {"/".join(spec.key.path): spec for spec in build_definitions(settings).resolve_all_asset_specs()}


def test_every_stage_says_whose_it_is_and_what_it_holds(specs: dict[str, dg.AssetSpec]) -> None:
    """All 42 stages have owners, kinds, a description and columns, each column with its meaning."""
    stages = {name: spec for name, spec in specs.items() if name.rpartition("/")[2] in STAGES}
    assert len(stages) == 42
    for spec in stages.values():
        assert list(spec.owners) == ["team:docs", "ada@example.org"]
        assert spec.kinds
        columns = spec.metadata["dagster/column_schema"].columns
        assert columns
        assert [column.name for column in columns if not column.description] == []


def test_descriptions_link_to_the_code(specs: dict[str, dg.AssetSpec]) -> None:
    """With the address of the repository each stage links to the very function that it is made of."""
    for name, function in {
        "flare/parsed_topics": "def parse(",
        "wordpress/raw_export": "def export(",
        "mdx/tagged_docs": "def tag(",
        "pdf/chunks": "def chunk(",
        "javadoc/embeddings": "def embed(",
        "web_crawl/pgvector_table": "def publish(",
    }.items():
        (reference,) = specs[name].metadata["dagster/code_references"].code_references
        assert f"]({reference.url})" in (specs[name].description or "")
        path, line = reference.url.removeprefix("https://git.example.org/bbj/blob/v1/").split("#L")
        assert function in (ROOT / path).read_text(encoding="utf-8").splitlines()[int(line) - 1]


@pytest.mark.parametrize("owners", ["documentation", "team:", "team:a,,team:b", "a@b@c", ""])
def test_an_owner_is_a_team_or_an_address(owners: str) -> None:
    """What Dagster would refuse when it loads is refused as a setting."""
    with pytest.raises(ValueError, match="asset_owners"):
        Settings(asset_owners=owners)


def test_the_tables_columns_are_the_databases(run: Refresh, database: Database) -> None:
    """The columns shown of the served table are PostgreSQL's: names, order, which may be null; an index's own may follow."""
    run("javadoc/bbj-api")
    with database.connection() as connection:
        (table,) = connection.execute("select tablename from pg_tables where tablename ~ '^chunks_[0-9]+$'").fetchall()
        found = connection.execute(
            "select attname, not attnotnull from pg_attribute where attrelid = %s::regclass and attnum > 0 order by attnum",
            (table[0],),
        ).fetchall()
    shown = column_schema("pgvector_table").columns
    assert [(column.name, column.constraints.nullable) for column in shown] == found[: len(shown)]


def test_a_materialisation_can_be_looked_at(run: Refresh, dagster_instance: dg.DagsterInstance, database: Database) -> None:
    """Counts, rows, columns, links, a token histogram and a timing plot, all of them small; an unchanged run draws nothing."""
    run("mdx/dwc-guide")
    stages = {stage: materialisation(dagster_instance, "mdx", stage) for stage in STAGES}
    for stage, shown in stages.items():
        assert sum(len(str(value)) for value in shown.values()) < 200_000
        if stage != "pgvector_table":
            assert len(str(shown["preview"]).splitlines()) <= 10
            assert shown["dagster/partition_row_count"] == shown["dagster/row_count"]
            columns = shown["dagster/column_schema"]
            assert isinstance(columns, dg.TableSchema)
            if stage != "embeddings":
                assert [column.name for column in columns.columns] == [column.name for column in column_schema(stage).columns]
    raw = re.findall(r"`([^`]+/raw/[^`]+)`", str(stages["raw_export"]["raw_files"]))
    assert 1 <= len(raw) <= 5
    assert all(Path(path).is_file() for path in raw)
    for stage in ("parsed_topics", "tagged_docs", "chunks", "pgvector_table"):
        links = str(stages[stage]["documents"]).splitlines()
        assert 1 <= len(links) <= 5
        assert any("](https://guide.example.org/" in line for line in links)
    assert picture(stages["chunks"]["token_histogram"]).startswith(b"\x89PNG")
    assert picture(stages["pgvector_table"]["timings"]).startswith(b"\x89PNG")
    with database.connection() as connection:
        (served,) = connection.execute("select count(*) from doc_chunks").fetchone() or (0,)
    table = stages["pgvector_table"]
    assert (table["dagster/row_count"], table["dagster/partition_row_count"], table["inserted"]) == (served,) * 3
    run("mdx/dwc-guide")
    again = materialisation(dagster_instance, "mdx", "pgvector_table")
    assert "timings" not in again
    assert again["dagster/partition_row_count"] == served
    histogram = materialisation(dagster_instance, "mdx", "chunks")["token_histogram"]
    assert histogram == stages["chunks"]["token_histogram"]


@pytest.mark.parametrize(
    "png",
    [
        token_histogram([1], window=256),
        token_histogram(list(range(1, 20_000)), window=256),
        stage_seconds([("this run", {"pgvector_table": 0.0})]),
        stage_seconds([(f"run {n}", dict.fromkeys(STAGES, 1000.0 * n)) for n in range(8)]),
    ],
    ids=["one chunk", "beyond the window", "one stage", "eight runs"],
)
def test_pictures_are_small(png: bytes) -> None:
    """A picture is a PNG of at most 60 kB, whatever it shows."""
    assert png.startswith(b"\x89PNG")
    assert len(png) <= MAX_PNG == 60_000
    width, height = struct.unpack(">II", png[16:24])
    assert width >= 280
    assert height >= 60


def test_speeds_are_of_what_was_done() -> None:
    """Documents, computed records or written rows a second; no speed when nothing was done."""
    assert numbers({"documents": 30, "resources": 5}, 2.0) == {
        "documents": 30, "resources": 5, "seconds": 2.0, "documents_per_second": 15.0,
    }  # fmt: skip
    assert numbers({"computed": 0, "reused": 7}, 0.5) == {"computed": 0, "reused": 7, "seconds": 0.5}
    shown = numbers({"inserted": 10, "updated": 2, "deleted": 3, "unchanged": 99}, 3.0)
    assert shown["rows_per_second"] == 5.0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see https://ada:pa55word@docs.example.org/a?b=1", "see https://…@docs.example.org/a?b=1"),
        ("s3://key:pa55word@bucket/prefix", "s3://…@bucket/prefix"),
        ("https://x.example.org/?access_token=pa55word&page=2", "https://x.example.org/?access_token=…&page=2"),
        ("https://x.example.org/a@b.html", "https://x.example.org/a@b.html"),
        ("ada@example.org", "ada@example.org"),
    ],
)
def test_no_credential_of_an_address_is_shown(text: str, shown: str) -> None:
    """User information and secret parameters of any URL become an ellipsis; everything else stays."""
    assert without_credentials(text) == shown
    assert cell(text) == shown
    assert "pa55word" not in link(text, text)


def test_hostile_titles_stay_text() -> None:
    """A title cannot become a link, a tag or a further cell, and a script address is no link."""
    assert link("[x](javascript:alert(1))", "javascript:alert(1)") == r"\[x\](javascript:alert(1))"
    assert link("<img src=x>", "https://a.example.org/) <b>").endswith("](https://a.example.org/%29%20%3Cb>)")
    assert cell("a|b\nc") == r"a\|b c"
    assert len(cell("x" * 1000)) == MAX_CELL


@pytest.mark.parametrize(
    "instance",
    [
        {"wordpress": {"kb": {"url": "https://ada:pa55word@kb.example.org"}}},
        {"wordpress": {"kb": {"url": "ftp://ada:pa55word@kb.example.org"}}},
        {"web_crawl": {"site": {"url": "https://ada:pa55word@kb.example.org/"}}},
        {"web_crawl": {"site": {"path": "x", "public_url": "https://ada:pa55word@kb.example.org/{path}"}}},
        {"mdx": {"guide": {"path": "x", "public_url": "https://ada:pa55word@kb.example.org/{path}"}}},
        {"mdx": {"guide": {"path": "x", "public_url": "https://ada:pa55word@kb.example.org/"}}},
    ],
)
def test_credentials_in_sources_are_refused_without_being_said(tmp_path: Path, instance: dict[str, object]) -> None:
    """An address with a password in ``sources.yaml`` is an error that does not quote it, so no log and no page ever can."""
    file = tmp_path / "sources.yaml"
    file.write_text(yaml.safe_dump(instance), encoding="utf-8")
    with pytest.raises(ConfigurationError) as raised:
        load_sources(file)
    assert "pa55word" not in str(raised.value)


def test_credentials_in_a_document_do_not_reach_the_ui(
    run: Refresh, exports: Path, dagster_instance: dg.DagsterInstance
) -> None:
    """A password that someone wrote into a page's address is in no metadata and no log line of the whole run."""
    page = next((exports / "mdx" / "dwc-guide").rglob("*.md*"))
    text = page.read_text(encoding="utf-8")
    page.write_text(text + "\nSee https://ada:pa55word@docs.example.org/secret for more.\n", encoding="utf-8")
    report = run("mdx/dwc-guide")["mdx/dwc-guide"]
    assert report.status == "published"
    assert not any("pa55word" in str(entry) for entry in dagster_instance.all_logs(report.run_id))
