"""Exports from untrusted places: archives and folders that try to lead elsewhere, lie, or are broken."""

import os
import stat
import zipfile
from pathlib import Path

import pytest

from bbj_pipeline.errors import RejectedInput, SourceUnavailable
from bbj_pipeline.records import RawDocument, Reject
from bbj_pipeline.sources.flare import SOURCE, FlareOptions
from bbj_pipeline.sources.flare.files import MAX_MEMBERS

TOPIC = b"<html><head><title>T</title></head><body><p>text</p></body></html>"


def export(path: Path) -> dict[str, RawDocument | Reject]:
    found = list(SOURCE.export(FlareOptions(path=path)))
    assert [item.key for item in found] == sorted({item.key for item in found})
    return {item.key: item for item in found}


def codes(path: Path) -> dict[str, str]:
    return {key: item.code if isinstance(item, Reject) else "ok" for key, item in export(path).items()}


def test_a_folder_and_its_archive_are_the_same_export(tmp_path: Path) -> None:
    """Keys, bytes and section paths do not depend on whether the export was zipped; other files are passed over."""
    folder = tmp_path / "export"
    for name in ("a/One.htm", "a/Two.HTM", "b.xhtml", "c.html", "style.css", ".hidden.htm"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(TOPIC)
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for path in folder.rglob("*"):
            out.write(path, path.relative_to(folder).as_posix())
    assert export(archive) == export(folder)
    assert list(export(folder)) == ["a/One.htm", "a/Two.HTM", "b.xhtml", "c.html"]


def test_members_that_lead_out_are_refused_by_name(tmp_path: Path) -> None:
    """Climbing, absolute and drive names, links and duplicate members are rejects; backslashes are folders."""
    path = tmp_path / "bad.zip"
    link = zipfile.ZipInfo("link.htm")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("../up.htm", TOPIC)
        out.writestr("/abs.htm", TOPIC)
        out.writestr("C:/drive.htm", TOPIC)
        out.writestr("a\\good.htm", TOPIC)
        out.writestr(link, b"/etc/passwd")
        out.writestr("twice.htm", TOPIC)
        with pytest.warns(UserWarning, match="Duplicate"):
            out.writestr("twice.htm", TOPIC + b" ")
    assert codes(path) == {
        "../up.htm": "unsafe-path",
        "/abs.htm": "unsafe-path",
        "C:/drive.htm": "unsafe-path",
        "a/good.htm": "ok",
        "link.htm": "outside-root",
        "twice.htm": "ok",
        "twice.htm (2)": "duplicate-key",
    }


def test_a_broken_member_is_one_reject(tmp_path: Path) -> None:
    """A member whose bytes do not match its checksum is refused alone; the others are read."""
    path = tmp_path / "broken.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("a.htm", TOPIC)
        out.writestr("b.htm", TOPIC.replace(b"text", b"TEXT"))
    path.write_bytes(path.read_bytes().replace(b"TEXT", b"LOST"))
    assert codes(path) == {"a.htm": "ok", "b.htm": "corrupt-member"}


def test_an_encrypted_member_is_one_reject(tmp_path: Path) -> None:
    """A member that needs a password is named; the others are read."""
    path = tmp_path / "locked.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("a.htm", TOPIC)
        out.writestr("b.htm", TOPIC)
    data = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # APPNOTE 4.3.7 and 4.3.12: the general purpose flags
        data[data.rindex(header) + flags] |= 1
    path.write_bytes(bytes(data))
    assert codes(path) == {"a.htm": "ok", "b.htm": "encrypted"}


@pytest.mark.parametrize("top", ["", "WebHelp/", "./WebHelp/", "Output\\"])
def test_keys_do_not_depend_on_a_single_top_folder(tmp_path: Path, top: str) -> None:
    """The same export has the same keys whether its folder was zipped or what is in it; junk beside it does not matter."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as out:
        for name in ("a/One.htm", "b/Two.htm", "style.css"):
            out.writestr(f"{top}{name}", TOPIC)
        out.writestr("__MACOSX/._a", b"")
        out.writestr(f"{top}.hidden/x.htm", TOPIC)
    assert list(export(path)) == ["a/One.htm", "b/Two.htm"]


@pytest.mark.parametrize("names", [("Content/a.htm", "Content/b/c.htm"), ("one/a.htm", "two/a.htm"), ("one/a.htm", "top.css")])
def test_folders_that_are_part_of_the_export_stay_in_its_keys(tmp_path: Path, names: tuple[str, ...]) -> None:
    """``Content`` is a project's own folder, two folders are the export's, and so is one beside a file."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as out:
        for name in names:
            out.writestr(name, TOPIC)
    assert list(export(path)) == sorted(name for name in names if name.endswith(".htm"))


def test_a_member_over_the_size_limit_is_one_reject(tmp_path: Path) -> None:
    """A member that unpacks to more than a document may have is refused without being read whole."""
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("a.htm", TOPIC)
        out.writestr("bomb.htm", b" " * (64 * 1024 * 1024 + 1))
    assert codes(path) == {"a.htm": "ok", "bomb.htm": "too-large"}


def test_archives_beyond_the_bounds_are_refused(tmp_path: Path) -> None:
    """What is no archive, and one whose directory declares too much, is rejected input with a remedy."""
    path = tmp_path / "no.zip"
    path.write_bytes(b"not an archive")
    with pytest.raises(RejectedInput, match=r"no\.zip is not a usable \.zip"):
        export(path)
    with zipfile.ZipFile(path, "w") as out:
        for number in range(3):
            out.writestr(f"{number}.htm", TOPIC)
    lying = path.read_bytes().replace(len(TOPIC).to_bytes(4, "little"), (0xFFFFFFF0).to_bytes(4, "little"))
    path.write_bytes(lying)
    with pytest.raises(RejectedInput, match="members of"):
        export(path)
    assert MAX_MEMBERS >= 20_000


def test_links_in_a_folder_stay_inside_it(tmp_path: Path) -> None:
    """Links out of the export are rejects, links inside are read, linked folders are not followed twice."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.htm").write_bytes(TOPIC)
    (root / "a/one.htm").write_bytes(TOPIC)
    os.symlink(outside / "secret.htm", root / "file.htm")
    os.symlink(root / "a/one.htm", root / "inside.htm")
    os.symlink(outside, root / "folder")
    os.symlink(root / "a", root / "again")
    os.symlink(root / "loop.htm", root / "loop.htm")
    found = codes(root)
    assert {key: found[key] for key in ("a/one.htm", "inside.htm", "file.htm", "folder")} == {
        "a/one.htm": "ok",
        "inside.htm": "ok",
        "file.htm": "outside-root",
        "folder": "outside-root",
    }
    assert "again/one.htm" not in found
    assert found["loop.htm"] != "ok"


def test_a_missing_export_names_the_remedy(tmp_path: Path) -> None:
    """An export that is not there is unavailable, and the message says which option to set."""
    with pytest.raises(SourceUnavailable, match='set "path"'):
        export(tmp_path / "nothing")
