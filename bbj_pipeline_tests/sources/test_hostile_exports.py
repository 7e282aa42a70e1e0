"""Hostile folders and archives: an exporter lists each key once, reads nothing outside, asks for nothing, and always ends."""

from __future__ import annotations

import json
import socket
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bbj_pipeline.errors import RejectedInput
from bbj_pipeline.records import RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.sources.config import build_options
from bbj_pipeline.sources.registry import get_source, source_kinds
from bbj_pipeline_tests.sources.hostile.builders import page
from bbj_pipeline_tests.sources.hostile.objects import post

SUFFIX = {
    "flare": ".htm",
    "web_crawl": ".html",
    "wordpress": ".json",
    "javadoc": ".json",
    "mdx": ".md",
    "bbj_source": ".bbj",
    "pdf": ".pdf",
}


def exported(kind: str, path: Path, **values: Any) -> list[RawDocument | Reject | Unfetched]:
    source = get_source(kind)
    found = list(source.export(build_options(source, {"path": str(path), **values}, base=path, where="test")))
    keys = [item.key for item in found]
    assert keys == sorted(set(keys))
    return found


def parsed(kind: str, path: Path) -> list[Topic | Reject]:
    source = get_source(kind)
    options = build_options(source, {"path": str(path)}, base=path, where="test")
    found = exported(kind, path)
    contents = {item.key: item.content for item in found if isinstance(item, RawDocument)}
    documents = [item for item in found if isinstance(item, RawDocument) and item.role == "document"]
    return [result for item in documents for result in source.parse(item, options, contents.__getitem__)]


def rejects(found: list[Any]) -> dict[str, str]:
    return {item.key: item.code for item in found if isinstance(item, Reject)}


@contextmanager
def listener() -> Iterator[tuple[str, list[object]]]:
    """Listen on loopback; give the address and everybody who came."""
    came: list[object] = []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)
    stop = threading.Event()

    def accept() -> None:
        while not stop.is_set():
            try:
                connection, address = server.accept()
            except TimeoutError:
                continue
            came.append(address)
            connection.close()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x", came
    finally:
        stop.set()
        thread.join()
        server.close()


@pytest.mark.parametrize("kind", ["flare", "web_crawl", "wordpress", "javadoc", "mdx"])
def test_no_document_opens_a_file_or_a_connection(kind: str, tmp_path: Path) -> None:
    """External entities, DTDs, XIncludes, style sheets and frames are neither read nor fetched."""
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cr3t")
    folder = tmp_path / "in"
    folder.mkdir()
    with listener() as (address, came):
        inside = (
            f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{address}"/><img src="{address}"/>'
            f'<iframe src="{address}"/>'
        )
        doctype = (
            f'<?xml version="1.0"?><?xml-stylesheet href="{address}"?><!DOCTYPE html SYSTEM "{address}" [<!ENTITY f SYSTEM'
            f' "{secret.as_uri()}"><!ENTITY h SYSTEM "{address}"><!ENTITY % p SYSTEM "{address}">%p;]>'
        )
        html = page(f"<p>&f;&h;</p>{inside}", doctype=doctype).decode()
        content = {
            "wordpress": post(content={"rendered": html}).decode(),
            "javadoc": json.dumps({"name": "p", "classes": [{"name": "C", "docu": html}]}),
        }.get(kind, html)
        (folder / f"a{SUFFIX[kind]}").write_text(content)
        found = parsed(kind, folder)
    assert found
    assert came == []
    assert "s3cr3t" not in repr(found)


@pytest.mark.parametrize("kind", source_kinds())
def test_links_lead_nowhere(kind: str, tmp_path: Path) -> None:
    """A link out of the root, a link to itself and a pipe are rejects by name; nothing behind them is read."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / f"s{SUFFIX[kind]}").write_text("s3cr3t")
    root = tmp_path / "root"
    root.mkdir()
    for name, target in (
        ("out", outside / f"s{SUFFIX[kind]}"),
        ("loop", root / f"loop{SUFFIX[kind]}"),
        ("gone", root / "nothing"),
    ):
        (root / f"{name}{SUFFIX[kind]}").symlink_to(target)
    (root / "folder").symlink_to(outside)
    found = exported(kind, root)
    assert "s3cr3t" not in repr(found)
    names = {key.partition(".")[0] for key in rejects(found)}
    assert {"out", "loop"} <= names


@pytest.mark.parametrize("kind", source_kinds())
def test_strange_names_are_keys(kind: str, tmp_path: Path) -> None:
    """Newlines, bytes that are no UTF-8, 200 letters, twins in Unicode's normal form or in case: each file is one key."""
    names = ["a\nb", "a\rb", "a b", "x" * 200, "A", "a", "e\u0301", "\u00e9", "\udcff", "\udcfe", "%2e%2e", "..x"]
    for name in names:
        (tmp_path / f"{name}{SUFFIX[kind]}").write_bytes(b"")
    found = exported(kind, tmp_path)
    hidden = 1  # a name that begins with a dot
    assert len(found) == len(names) - hidden
    assert all(letter < "\ud800" or letter > "\udfff" for item in found for letter in item.key)
    assert sum(code == "duplicate-key" for code in rejects(found).values()) >= 2


def test_archives_of_every_method_may_be_broken(tmp_path: Path) -> None:
    """A member that cannot be unpacked is a reject, whichever method it was packed by."""
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        place = tmp_path / f"{method}.zip"
        with zipfile.ZipFile(place, "w", method) as archive:
            archive.writestr("a.htm", page("<p>text</p>" * 200))
            archive.writestr("b.htm", page(""))
        content = bytearray(place.read_bytes())
        content[45:60] = b"\xff" * 15
        place.write_bytes(bytes(content))
        assert rejects(exported("flare", place)) == {"a.htm": "corrupt-member"}, method


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    """Parent folders, roots, drives, back-slashes and links in an archive are rejects; doubles are told apart."""
    place = tmp_path / "a.zip"
    link = zipfile.ZipInfo("link.htm")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(place, "w") as archive:
        for name in ("../a.htm", "/b.htm", "C:/c.htm", "d\\..\\..\\d.htm", "x/../../e.htm", "f.htm"):
            archive.writestr(name, page(""))
        archive.writestr(link, "/etc/passwd")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("f.htm", page(""))
    found = exported("flare", place)
    assert sorted(rejects(found).values()) == ["duplicate-key", "outside-root", *["unsafe-path"] * 5]
    assert [item.key for item in found if isinstance(item, RawDocument)] == ["f.htm"]


def test_a_bomb_of_four_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """What members declare is added up first."""
    place = tmp_path / "a.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.htm", b"\0" * 1_000)
    content = bytearray(place.read_bytes())
    at = content.rfind(b"PK\x01\x02") + 24
    content[at : at + 4] = b"\xfe\xff\xff\xff"
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr("b.htm", b"")
    place.write_bytes(bytes(content))
    found = exported("flare", place)
    assert rejects(found) == {"a.htm": "too-large"}


def _project(root: Path, tocs: dict[str, str]) -> None:
    (root / "Content").mkdir(parents=True)
    (root / "Project" / "TOCs").mkdir(parents=True)
    (root / "p.flprj").write_text("<CatapultProject/>")
    (root / "Content" / "a.htm").write_bytes(page(""))
    for name, entries in tocs.items():
        (root / "Project" / "TOCs" / name).write_text(f'<?xml version="1.0"?><CatapultToc Version="1">{entries}</CatapultToc>')


def test_tables_of_contents_may_link_each_other(tmp_path: Path) -> None:
    """Long chains, circles and tables that use each other twice end; the topic keeps a bounded number of places."""
    entry = '<TocEntry Title="t{0}" Link="/Project/TOCs/t{0}.fltoc" ReplaceMergeNode="true"/>'
    own = '<TocEntry Title="[%=System.LinkedTitle%]" Link="/Content/a.htm"/>'
    _project(
        tmp_path, {f"t{n}.fltoc": entry.format(n + 1) + own for n in range(1_100)} | {"t1100.fltoc": entry.format(0) + own}
    )
    found = exported("flare", tmp_path)
    topic = next(item for item in found if item.key == "Content/a.htm")
    assert isinstance(topic, RawDocument)


def test_one_topic_may_stand_in_twenty_thousand_places(tmp_path: Path) -> None:
    """Places of one topic are bounded: comparing each with all others would take for ever."""
    own = "".join(f'<TocEntry Title="p{n}"><TocEntry Title="x" Link="/Content/a.htm"/></TocEntry>' for n in range(20_000))
    _project(tmp_path, {"t.fltoc": own})
    topic = next(item for item in exported("flare", tmp_path) if item.key == "Content/a.htm")
    assert isinstance(topic, RawDocument)
    assert len(topic.metadata["other_section_paths"]) < 1_000


def test_three_thousand_projects_in_one_archive(tmp_path: Path) -> None:
    """Finding the project of a file takes its depth, not the number of projects."""
    place = tmp_path / "a.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for number in range(3_000):
            archive.writestr(f"p{number}/p.flprj", "<CatapultProject/>")
            archive.writestr(f"p{number}/Content/a.htm", page(""))
    assert len(exported("flare", place)) == 3_000


def test_objects_of_wrong_types_are_exported_or_rejected(tmp_path: Path) -> None:
    """Whatever stands in the fields of recorded objects, every file ends in a document, a term, a resource or a reject."""
    values = [
        None,
        True,
        -1,
        10**400,
        1.5,
        "",
        "\ud800\0",
        [],
        {},
        [[]],
        [{"id": []}],
        {"rendered": 5},
        "http://[x",
        "9999-99-99",
    ]
    names = [
        "id",
        "type",
        "status",
        "link",
        "slug",
        "title",
        "content",
        "categories",
        "tags",
        "modified_gmt",
        "taxonomy",
        "parent",
        "name",
    ]
    for field in names:
        for number, value in enumerate(values):
            (tmp_path / f"{field}-{number}.json").write_bytes(post(**{"id": 1_000 + number, field: value}))
    assert parsed("wordpress", tmp_path)


def test_a_category_file_may_be_a_bomb(tmp_path: Path) -> None:
    """A ``_category_.yml`` that merges without end gives no label, and costs nothing."""
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12))]
    (tmp_path / "docs" / "one").mkdir(parents=True)
    (tmp_path / "docs" / "one" / "_category_.yml").write_text("\n".join(lines))
    (tmp_path / "docs" / "one" / "a.md").write_text("kept")
    assert [item.section_path for item in parsed("mdx", tmp_path) if isinstance(item, Topic)] == [("One",)]


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    """Any bytes named ``.zip`` are refused with a remedy, not with an exception of the library."""
    place = tmp_path / "a.zip"
    for content in (b"", b"PK", b"PK\x05\x06" + b"\xff" * 18, b"PK\x03\x04" + b"\0" * 100, b"\0" * 1_000):
        place.write_bytes(content)
        with pytest.raises(RejectedInput):
            exported("flare", place)
