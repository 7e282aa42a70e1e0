"""One case: a real document, or a folder of some, mutated, exported and parsed. Kind, seed and number alone decide it."""

from __future__ import annotations

import random
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bbj_pipeline.errors import PipelineError
from bbj_pipeline.records import RawDocument
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.sources.contract import Source
from bbj_pipeline.sources.pdf.source import PdfSource
from bbj_pipeline.sources.registry import source_kinds
from benchmarks.fuzz.checks import problems
from benchmarks.fuzz.forked import forked_worker
from benchmarks.fuzz.mutations import mutate, mutate_json

__all__ = ["Outcome", "run_case", "seeds_of"]

CORPORA = Path(__file__).parent.with_name("corpora.yaml")
_LARGEST_SEED = 300_000
"""Bytes of a seed document: larger ones cost time and teach nothing that smaller ones do not."""
_LARGEST_PDF = 40_000
_JSON_KINDS = frozenset(("javadoc", "wordpress"))
_NAMES = ("a\nb", "e\u0301", "\u00e9", "A", "a", "x" * 200, "..", "a b", "%2e%2e", "#", "a\\b", "con", "\u202e", "'\"", "_p")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case: what was wrong with it (empty when nothing was) and how long its first parse took, in seconds."""

    kind: str
    case: int
    seconds: float
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Seeds:
    """The real documents of a kind with their options and resources, and the folders they came from."""

    documents: list[tuple[RawDocument, Any, dict[str, bytes]]]
    contents: list[bytes]
    folders: list[tuple[Path, Any]]


@cache
def seeds_of(kind: str) -> _Seeds:
    """Return the documents of all configured instances of a kind, exported as the pipeline does it."""
    documents: list[tuple[RawDocument, Any, dict[str, bytes]]] = []
    folders: list[tuple[Path, Any]] = []
    largest = _LARGEST_PDF if kind == "pdf" else _LARGEST_SEED
    for instance in load_sources(CORPORA):
        if instance.ref.kind != kind:
            continue
        exported = [item for item in instance.source.export(instance.options) if isinstance(item, RawDocument)]
        contents = {item.key: item.content for item in exported}
        if instance.options.path is not None:
            folders.append((instance.options.path, instance.options))
        for item in exported:
            if item.role == "document" and len(item.content) <= largest:
                needed = {key: contents[key] for key in item.dependencies if key in contents}
                documents.append((item, instance.options, needed))
    return _Seeds(documents, [item.content for item, _, _ in documents], folders)


def run_case(kind: str, seed: int, case: int, save: Path | None = None) -> Outcome:
    """Run one case; the input of a failure is written below ``save``."""
    rng = random.Random(f"{kind}:{seed}:{case}")
    if case % 20 == 19:
        return _folder_case(kind, case, rng, save)
    raw, options, resources = _document_case(kind, rng)
    if case % 2:
        options = options.model_copy(update={"public_url": "https://example.org/{path}"})
    source = _source(kind, case)
    found, seconds = _parse(source, raw, options, resources, twice=case % 10 == 0)
    if found and save is not None:
        _write(save / f"{kind}-{seed}-{case}", raw, resources, found)
    return Outcome(kind, case, seconds, tuple(found))


def _source(kind: str, case: int) -> Source[Any]:
    """Return the source; nine in ten PDFs are read by a fork of this process instead of a new interpreter."""
    return source_kinds()[kind] if kind != "pdf" or case % 10 == 0 else PdfSource(run=forked_worker)


def _document_case(kind: str, rng: random.Random) -> tuple[RawDocument, Any, dict[str, bytes]]:
    seeds = seeds_of(kind)
    raw, options, resources = rng.choice(seeds.documents)
    change: Callable[..., bytes] = mutate_json if kind in _JSON_KINDS else mutate
    content = raw.content
    if not resources or rng.random() < 0.8:
        content = change(rng, content, seeds.contents, kind)
    if resources and rng.random() < 0.5:
        key = rng.choice(sorted(resources))
        resources = {**resources, key: change(rng, resources[key], seeds.contents, kind)}
    changed = RawDocument(raw.key, content, raw.media_type, url=raw.url, dependencies=raw.dependencies, metadata=raw.metadata)
    return changed, options, resources


def _parse(
    source: Source[Any], raw: RawDocument, options: Any, resources: dict[str, bytes], *, twice: bool
) -> tuple[list[str], float]:
    """Parse and check one document; return what is wrong and the seconds of the first parse."""
    start = time.perf_counter()
    try:
        results = list(source.parse(raw, options, resources.__getitem__))
    except Exception:
        return [traceback.format_exc(limit=-6)], time.perf_counter() - start
    seconds = time.perf_counter() - start
    found = problems(source.kind, raw, results)
    if twice and list(source.parse(raw, options, resources.__getitem__)) != results:
        found.append("parsing twice gives different results")
    return found, seconds


def _folder_case(kind: str, case: int, rng: random.Random, save: Path | None) -> Outcome:
    """Mutate files, names and, for Flare, the archive of a few real files; export them and parse what comes out."""
    folder, options = rng.choice(seeds_of(kind).folders)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "export")
        files = _some_files(folder, kind, rng)
        for name, content in files:
            path = root / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except OSError:  # a name that this file system does not take is no case
                continue
        root.mkdir(exist_ok=True)
        place = _archive(root, rng, kind) if kind == "flare" and rng.random() < 0.4 else root
        found, seconds = _export(kind, place, options)
        if found and save is not None:
            target = save / f"{kind}-folder-{case}"
            target.mkdir(parents=True, exist_ok=True)
            (target / "problems.txt").write_text("\n".join(found), encoding="utf-8", errors="backslashreplace")
            for number, (name, content) in enumerate(files):
                (target / f"{number}.bin").write_bytes(name.encode("utf-8", "backslashreplace") + b"\n" + content)
            if place.is_file():
                (target / "archive.zip").write_bytes(place.read_bytes())
    return Outcome(kind, case, seconds, tuple(found))


def _some_files(folder: Path, kind: str, rng: random.Random) -> list[tuple[str, bytes]]:
    every = [path for path in _files_below(folder) if path.stat().st_size <= _LARGEST_PDF]
    chosen = rng.sample(every, min(len(every), rng.randint(1, 6)))
    contents = [path.read_bytes() for path in chosen]
    files: list[tuple[str, bytes]] = []
    for path, content in zip(chosen, contents, strict=True):
        name = path.relative_to(folder).as_posix()
        if rng.random() < 0.6:
            as_json = path.suffix == ".json" and kind in _JSON_KINDS
            content = (mutate_json if as_json else mutate)(rng, content, contents, kind)
        if rng.random() < 0.3:
            stem = "/".join(rng.choice(_NAMES) for _ in range(rng.randint(1, 2)))
            name = f"x/{stem}{path.suffix}" if ".." in stem else f"{stem}{path.suffix}"
        files.append((name, content))
    return files


@cache
def _files_below(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _archive(root: Path, rng: random.Random, kind: str) -> Path:
    place = root.with_name("export.zip")
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(place, "w", method) as archive:
        for path in sorted(root.rglob("*")):
            archive.write(path, rng.choice(("", "../", "/", "C:\\")) * (rng.random() < 0.1) + path.relative_to(root).as_posix())
    if rng.random() < 0.7:
        content = bytearray(place.read_bytes())
        for _ in range(rng.randint(1, 12)):
            content[rng.randrange(len(content))] = rng.choice((0, 255, rng.randrange(256)))
        place.write_bytes(bytes(content) if rng.random() < 0.9 else mutate(rng, bytes(content), [bytes(content)], kind))
    return place


def _export(kind: str, place: Path, options: Any) -> tuple[list[str], float]:
    source = _source(kind, 1)
    start = time.perf_counter()
    try:
        exported = list(source.export(options.model_copy(update={"path": place})))
    except PipelineError:
        return [], time.perf_counter() - start
    except Exception:
        return [f"export: {traceback.format_exc(limit=-6)}"], time.perf_counter() - start
    seconds = time.perf_counter() - start
    keys = [item.key for item in exported]
    found = [] if keys == sorted(set(keys)) else [f"export: keys are not sorted and unique: {keys!r:.500}"]
    contents = {item.key: item.content for item in exported if isinstance(item, RawDocument)}
    for item in exported:
        if isinstance(item, RawDocument) and item.role == "document":
            wrong, more = _parse(source, item, options, contents, twice=False)
            found.extend(f"{item.key}: {text}" for text in wrong)
            seconds += more
    return found, seconds


def _write(folder: Path, raw: RawDocument, resources: dict[str, bytes], found: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "input.bin").write_bytes(raw.content)
    (folder / "problems.txt").write_text("\n".join([raw.key, *found]), encoding="utf-8", errors="backslashreplace")
    for number, (key, content) in enumerate(sorted(resources.items())):
        (folder / f"resource-{number}.bin").write_bytes(key.encode("utf-8", "backslashreplace") + b"\n" + content)
