"""The source kind ``bbj_source``: folders of BBj programs, one topic a program.

Finding files, titles and metadata live here; lexing, declarations and layout have modules of their own.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, ClassVar

from pydantic import Field

from bbj_pipeline.records import Block, DocType, RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.sources.bbj_source.program import Program, blocks, read_program
from bbj_pipeline.sources.bbj_source.text import SourceText, classify, decode, tokenised
from bbj_pipeline.sources.contract import (
    NOTHING_EARLIER,
    EarlierExport,
    InputFiles,
    ReadResource,
    Source,
    SourceOptions,
    existing_folder,
)
from bbj_pipeline.sources.folder import FolderFiles, public_url_of, raw_document

__all__ = ["SOURCE", "BbjSource", "BbjSourceOptions"]

log = logging.getLogger(__name__)

_USE = re.compile(r"use\s+(\S[^;]*)", re.IGNORECASE)
_INCLUDE = re.compile(r"#include\s+(\S[^;]*)", re.IGNORECASE)
_NO_TITLE = re.compile(r"copyright|\(c\)|©|licen[sc]e|all rights|^@|https?://|\$(id|header|revision|log)\b", re.IGNORECASE)
_MOST_TITLE = 100


class BbjSourceOptions(SourceOptions):
    """Options of a ``bbj_source`` instance."""

    extensions: tuple[str, ...] = Field(
        default=(".bbj", ".src", ".bbx", ".bbjt", ".prc", ".aon", ".cdf", ".bbl", ".txt"),
        description="File name extensions that are read, in any case; a .txt is a program or prose by what stands in it.",
    )

    def is_program(self, key: str) -> bool:
        """Say whether a file is read whole, by its extension."""
        return key.lower().endswith(tuple("." + extension.lower().lstrip(".") for extension in self.extensions))


class BbjSource(Source[BbjSourceOptions]):
    """Reads BBj programs; every line of a program is in its topic once, as code or as a paragraph of comment."""

    kind: ClassVar[str] = "bbj_source"
    title: ClassVar[str] = "BBj source code"
    parser_version: ClassVar[str] = "3"
    default_doc_type: ClassVar[DocType] = "example"
    options_type = BbjSourceOptions

    def files(self, options: BbjSourceOptions) -> AbstractContextManager[InputFiles]:
        """List all files: those with one of the extensions whole, of the others how they begin."""
        root = existing_folder(options.path, self.kind)
        return nullcontext(FolderFiles(root, options.is_program, looks_into_others=True))

    def export(
        self, options: BbjSourceOptions, earlier: EarlierExport = NOTHING_EARLIER
    ) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield every file with one of the extensions, by relative path.

        Of the others a tokenised one, whatever its name, is a ``Reject``; the rest are no BBj source and counted in the log.
        """
        others: Counter[str] = Counter()
        with self.files(options) as files:
            for key in files.all_keys():
                found = raw_document(key, files.read(key), "text/x-bbj")
                if options.is_program(key) or not isinstance(found, RawDocument):
                    yield found
                elif (refused := tokenised(key, found.content)) is not None:
                    yield refused
                else:
                    others[PurePosixPath(key).suffix.lower() or "without extension"] += 1
        if others:
            told = ", ".join(f"{count} {suffix}" for suffix, count in others.most_common(20))
            count = others.total()
            log.info("%s: %d files are no BBj source by their extension and not listed: %s", options.path, count, told)

    def parse(self, raw: RawDocument, options: BbjSourceOptions, read: ReadResource) -> Iterator[Topic | Reject]:
        """Yield one topic, or a ``Reject``: ``tokenised``, ``binary`` or ``empty``."""
        source = decode(raw.key, raw.content)
        if isinstance(source, Reject):
            yield source
            return
        kind = classify(raw.key, source.text)
        program = read_program(source.text) if kind == "program" else None
        found = _program_blocks(program) if program else _text_blocks(source.text, kind)
        if not found:
            yield Reject(raw.key, "empty", "nothing but rules of dashes and empty comments")
            return
        metadata: dict[str, Any] = {"program_kind": kind, "encoding": source.encoding}
        if program:
            metadata.update(_program_metadata(program))
        folder, _, name = raw.key.rpartition("/")
        yield Topic(
            kind=self.kind,
            key=raw.key,
            title=_title(found, program, source) or name,
            blocks=found,
            url=public_url_of(options.public_url, raw.key),
            section_path=tuple(folder.split("/")) if folder else (),
            metadata=metadata,
            raw_key=raw.key,
            raw_sha256=raw.sha256,
        )


def _program_blocks(program: Program) -> tuple[Block, ...]:
    return tuple(blocks(program))


def _text_blocks(text: str, kind: str) -> tuple[Block, ...]:
    if kind == "configuration":
        shown = text.lstrip("\n")
        first = 1 + len(text) - len(shown)
        shown = shown.rstrip("\n")
        return (Block("code", shown, language="ini", lines=(first, first + shown.count("\n"))),)
    runs = groupby(enumerate(text.split("\n"), start=1), key=lambda line: bool(line[1].strip()))
    paragraphs = (list(run) for filled, run in runs if filled)
    return tuple(Block("paragraph", "\n".join(t for _, t in run), lines=(run[0][0], run[-1][0])) for run in paragraphs)


def _title(found: tuple[Block, ...], program: Program | None, source: SourceText) -> str | None:
    """Return the first telling line of the comment the program opens with, or of prose; ``None`` when there is none."""
    if program is None:
        first = source.text.strip().split("\n", 1)[0].strip(" #=-*\t")
        return first if _is_title(first) else None
    if not program.pieces or not program.pieces[0].comment:
        return None
    opening: list[str] = []
    for block in found:
        if block.type == "code":
            break
        if block.type == "paragraph":
            opening.extend(block.text.split("\n"))
    return next((line.strip() for line in opening if _is_title(line)), None)


def _is_title(line: str) -> bool:
    words = line.strip()
    return 3 < len(words) <= _MOST_TITLE and any(letter.isalpha() for letter in words) and not _NO_TITLE.search(words)


def _program_metadata(program: Program) -> dict[str, Any]:
    code = [item.text for line in program.lines for item in line.statements if not item.comment]
    starts = {line.start: line for line in program.lines}
    signed = [item for item in program.declarations if item.kind in {"method", "function"}]
    lists = {
        "uses": [found.group(1).strip() for text in code if (found := _USE.match(text))],
        "includes": [found.group(1).strip().strip("\"'") for text in code if (found := _INCLUDE.match(text))],
        "classes": [item.name for item in program.declarations if item.kind in {"class", "interface"}],
        "callpoints": [item.name for item in program.declarations if item.kind == "callpoint"],
        "signatures": [
            statement.text
            for item in signed
            for statement in starts[item.start_line].statements
            if not statement.comment and item.name in statement.text
        ],
    }
    numbered = any(line.number is not None for line in program.lines)
    return {name: list(dict.fromkeys(values)) for name, values in lists.items() if values} | (
        {"line_numbered": True} if numbered else {}
    )


SOURCE = BbjSource()
