"""The ``pdf`` kind against real manuals and forty nasty files, by counts that were made without this code."""

from __future__ import annotations

import csv
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pypdf import PdfReader

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.sources.pdf.source import SOURCE, PdfOptions
from bbj_pipeline_tests.paths import CORPORA, FACTS

_DIGITS = re.compile(r"\d+")
_BROKEN = re.compile(r"(?<=[a-z])-\s*\n(?=[a-z])")
_LIGATURES = str.maketrans({"ﬁ": "fi", "ﬂ": "fl"})
_WORD = re.compile(r"\w+")
PASSWORDS = {
    "encrypted-file.pdf": "test",
    "crazyones-encrypted-256.pdf": "password",
    "r6-both-passwords.pdf": "foo",
    **{f"r{name}-user-password.pdf": "asdfzxcv" for name in ("2", "3", "4", "4-aes", "5", "6")},
}
NO_TEXT = {"box.pdf", "encrypted_doc_no_id.pdf", "git.pdf", "imagemagick-ASCII85Decode.pdf"}


def parse_all(folder: Path, options: PdfOptions) -> dict[str, tuple[Topic | Reject, float]]:
    def one(path: Path) -> tuple[str, tuple[Topic | Reject, float]]:
        started = time.monotonic()
        (result,) = SOURCE.parse(RawDocument(path.name, path.read_bytes()), options, lambda key: b"")
        return path.name, (result, time.monotonic() - started)

    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(one, sorted(folder.glob("*.pdf"))))


@pytest.fixture(scope="module")
def manuals() -> dict[str, Topic]:
    found = parse_all(CORPORA / "pdf" / "manuals", PdfOptions())
    assert len(found) == 6
    return {name: result for name, (result, _) in found.items() if isinstance(result, Topic)}


@pytest.fixture(scope="module")
def nasty() -> dict[str, tuple[Topic | Reject, float]]:
    return parse_all(CORPORA / "pdf" / "nasty", PdfOptions())


def facts(name: str) -> list[dict[str, str]]:
    with (FACTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_manual_is_a_topic_with_its_pages(manuals: dict[str, Topic]) -> None:
    """All six manuals are read, with the number of pages the manifest counted."""
    counted = {Path(row["path"]).name: int(row["pages"]) for row in facts("pdf_manifest.tsv") if "/manuals/" in row["path"]}
    assert {name: found.metadata["pages"] for name, found in manuals.items()} == counted


def test_every_outline_title_is_a_heading_on_its_page(manuals: dict[str, Topic]) -> None:
    """Each of the outline entries counted independently is a heading with its text and level on its page, and no other is."""
    for file, rows in grouped(facts("pdf_outlines.tsv")).items():
        wanted = [(int(row["page"]), min(int(row["level"]), 6), squeezed(row["title"])) for row in rows]
        found = [(b.page, b.level, squeezed(b.text)) for b in manuals[file].blocks if b.type == "heading"]
        assert sorted(found) == sorted(wanted), file


def grouped(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    files: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        files.setdefault(Path(row["file"]).name, []).append(row)
    return files


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_hardly_a_word_of_the_manuals_is_lost(manuals: dict[str, Topic]) -> None:
    """Of the words pypdf finds by itself on the first 30 pages, running lines aside, 99.5 % are in the topic."""
    for name, found in manuals.items():
        pages = [page.extract_text() for page in PdfReader(CORPORA / "pdf" / "manuals" / name).pages[:30]]
        repeated = Counter(shape for page in pages for shape in {_DIGITS.sub("#", line) for line in page.split("\n")})
        lines = [line for page in pages for line in page.split("\n") if repeated[_DIGITS.sub("#", line)] < 3]
        mended = _BROKEN.sub("", "\n".join(lines)).translate(_LIGATURES)
        words = Counter(w for w in _WORD.findall(mended) if len(w) > 1)
        read = Counter(_WORD.findall(" ".join(block.text for block in found.blocks if (block.page or 0) <= 30)))
        assert sum((words - read).values()) <= 0.005 * sum(words.values()), (name, words - read)


def test_running_lines_of_an_rfc_are_gone(manuals: dict[str, Topic]) -> None:
    """The author's and the RFC's running lines stand on no page, the sections are headings, and the grammar is code."""
    found = manuals["rfc8259.pdf"]
    text = [block.text for block in found.blocks]
    assert not any("[Page" in words for words in text)
    assert "1.1. Conventions Used in This Document" in [b.text for b in found.blocks if b.type == "heading"]
    assert any(b.type == "code" and b.text.startswith("object = begin-object") for b in found.blocks)


def test_code_of_a_manual_keeps_its_lines(manuals: dict[str, Topic]) -> None:
    """The installation guide's shell commands are code blocks, one command a line."""
    code = [b.text for b in manuals["sqream__install_dashboard.pdf"].blocks if b.type == "code"]
    assert "tar xzvf node-v10.14.1.tar.gz && cd node-v10.14.1\n./configure\nmake\nsudo make install" in code


def test_symbols_and_second_level_bullets_are_lists(manuals: dict[str, Topic]) -> None:
    """A bullet set in a font of symbols is a bullet, not the letter it borrows."""
    blocks = manuals["flare-built-localization-guide.pdf"].blocks
    levels = Counter(b.level for b in blocks if b.type == "list_item")
    assert levels[1] > 300
    assert levels[2] > 30
    assert not any(b.text.startswith(("l ", "o ")) for b in blocks if b.type in {"paragraph", "list_item"})


def test_every_nasty_file_is_a_topic_or_a_named_reject(nasty: dict[str, tuple[Topic | Reject, float]]) -> None:
    """Of the forty files those without text say so, those that need a password say so, all others are topics; none hangs."""
    assert len(nasty) == 40
    rejected = {name: result.code for name, (result, _) in nasty.items() if isinstance(result, Reject)}
    assert {name for name, code in rejected.items() if code == "no-text"} == NO_TEXT
    needing = {name for name, code in rejected.items() if code == "password-needed"}
    assert needing | NO_TEXT == set(rejected)
    assert needing <= set(PASSWORDS)
    assert max(seconds for _, seconds in nasty.values()) < 60


def test_text_of_the_nasty_files_is_as_long_as_counted(nasty: dict[str, tuple[Topic | Reject, float]]) -> None:
    """A topic has letters where the manifest counted some."""
    for row in facts("pdf_manifest.tsv"):
        result = nasty.get(Path(row["path"]).name, (None, 0.0))[0]
        if isinstance(result, Topic) and row["text_chars(first400p)"]:
            assert sum(len(b.text) for b in result.blocks) >= 0.4 * int(row["text_chars(first400p)"]), row["path"]


def test_passwords_open_what_needs_them() -> None:
    """Every verified password opens its file, in every revision of the encryption."""
    options = PdfOptions.model_validate({"passwords": PASSWORDS})
    for name in PASSWORDS:
        content = (CORPORA / "pdf" / "nasty" / name).read_bytes()
        (result,) = SOURCE.parse(RawDocument(name, content), options, lambda key: b"")
        assert isinstance(result, Topic), name
        assert _WORD.search(result.blocks[0].text)


def test_owner_password_files_open_and_hold_the_same_text(nasty: dict[str, tuple[Topic | Reject, float]]) -> None:
    """A file that only its owner's password restricts opens without one, and reads like the one that is not encrypted."""
    plain = nasty["unencrypted.pdf"][0]
    assert isinstance(plain, Topic)
    for name, (result, _) in nasty.items():
        if "-owner-" in name or "-empty-" in name:
            assert isinstance(result, Topic), name
            assert result.metadata["encrypted"] is True
            assert len(result.blocks) == len(plain.blocks)


def test_a_file_over_its_time_is_rejected_by_name() -> None:
    """A file that needs more processor time than it may have is a reject that names the option to raise."""
    path = CORPORA / "pdf" / "manuals" / "flare-built-localization-guide.pdf"
    (result,) = SOURCE.parse(RawDocument(path.name, path.read_bytes()), PdfOptions(max_seconds=1), lambda key: b"")
    assert isinstance(result, Reject)
    assert result.code == "too-slow"
    assert "max_seconds" in result.reason
