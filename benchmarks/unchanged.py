"""An unchanged refresh beside hashing the raw files, and the generated exports that both read.

    python -m benchmarks.unchanged [--chunks N]

By itself it measures the export step alone, which is all of a refresh that reads files: every kind is exported once, then again
with nothing changed, in rounds that alternate with hashing. No database, no model and no Dagster. The other stages are measured
by ``incremental``, which uses what is here. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.stage_names import STAGES
from bbj_pipeline.orchestration.steps.embed import embed_chunks
from bbj_pipeline.orchestration.steps.export import export_raw
from bbj_pipeline.orchestration.steps.publish import publish_chunks
from bbj_pipeline.orchestration.steps.transform import chunk_docs, parse_raw, tag_topics
from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.storage.embedding_cache import DatabaseEmbeddingCache
from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore
from benchmarks.generate import generate
from benchmarks.large import SHARES
from benchmarks.memory import peak
from benchmarks.search import Server

ROUNDS = 3
CHUNKS_A_DOCUMENT = {
    "flare": 2.96, "wordpress": 2.86, "web_crawl": 2.86, "mdx": 1.0, "javadoc": 12.45, "bbj_source": 2.02, "pdf": 4.0,
}  # fmt: skip
"""What the chunker makes of a generated document of each kind; measured on 100 of each."""


def write_exports(folder: Path, chunks: int, corpora: Path | None) -> int:
    """Write exports of all kinds that give about ``chunks`` chunks in the blueprint's proportions, and their sources.yaml.

    The instances of ``corpora`` stand in it too, where they lie. Returns how many documents were written.
    """
    documents = 0
    sources: dict[str, dict[str, dict[str, object]]] = yaml.safe_load(corpora.read_text("utf-8")) if corpora else {}
    for instances in sources.values():
        for options in instances.values():
            options["path"] = str((corpora or folder).parent.resolve() / str(options["path"]))
    for kind, share in SHARES.items():
        count = max(1, round(chunks * share / sum(SHARES.values()) / CHUNKS_A_DOCUMENT[kind]))
        documents += count
        path = generate(kind, folder / kind, count)
        sources.setdefault(kind, {})["made"] = {"path": str(path), "min_tag_coverage": 0}
    (folder / "sources.yaml").write_text(yaml.safe_dump(sources), encoding="utf-8")
    return documents


def raw_files(settings: Settings) -> list[Path]:
    """All files of all instances, those included that no export reads: they are few."""
    roots = (item.options.path for item in load_sources(settings.sources_file))
    return [path for root in roots if root is not None for path in sorted(root.rglob("*")) if path.is_file()]


def hash_files(paths: Sequence[Path]) -> int:
    """Read and hash every file; return their bytes."""
    size = 0
    for path in paths:
        content = path.read_bytes()
        hashlib.sha256(content).hexdigest()
        size += len(content)
    return size


def beside(works: Mapping[str, Callable[[], object]], *, server: Server | None = None, rounds: int = ROUNDS) -> None:
    """Run the works in alternating rounds and print the best of each beside the first's: wall clock and processor.

    The processor seconds are those of this process and, if one is given, of the database's backends.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            database = server.seconds() if server else 0.0
            wall, processor = time.perf_counter(), time.process_time()
            work()
            spent = time.perf_counter() - wall, time.process_time() - processor
            found[name].append((spent[0], spent[1] + (server.seconds() - database if server else 0.0)))
    print(f"| best of {rounds} | seconds | times hashing | processor seconds | times hashing |\n|---|---|---|---|---|")
    best = {name: [min(values) for values in zip(*each, strict=True)] for name, each in found.items()}
    base = next(iter(best.values()))
    for name, (wall, processor) in best.items():
        print(f"| {name} | {wall:.2f} | {wall / base[0]:.1f} | {processor:.2f} | {processor / base[1]:.1f} |", flush=True)


def unchanged_stages(settings: Settings, platform: Platform) -> dict[str, float]:
    """Run the steps of all instances without Dagster over an unchanged input; return the seconds of each stage."""
    spent = dict.fromkeys(STAGES, 0.0)
    cache = DatabaseEmbeddingCache(platform.database)
    for item in load_sources(settings.sources_file):
        at = Workplace(item, platform.store, "unchanged")
        begun = time.perf_counter()
        files: list[StageFile] = []
        steps: list[Callable[[], StepResult]] = [
            lambda at=at: export_raw(at),  # type: ignore[misc]
            lambda at=at, files=files: parse_raw(at, files[-1]),  # type: ignore[misc]
            lambda at=at, files=files: tag_topics(at, files[-1]),  # type: ignore[misc]
            lambda at=at, files=files: chunk_docs(at, files[-1], platform.tokenizer),  # type: ignore[misc]
            lambda at=at, files=files: embed_chunks(at, files[-1], platform.embedder, cache, batch=32),  # type: ignore[misc]
        ]
        for stage, step in zip(STAGES[:-1], steps, strict=True):
            output = step().output
            assert isinstance(output, StageFile), f"{item.ref} {stage} is not unchanged"
            files.append(output)
            begun, before = time.perf_counter(), begun
            spent[stage] += begun - before
        outcome = publish_chunks(at, files[-2], files[-1], platform.database, platform.embedder)
        assert outcome.status == "unchanged"
        spent[STAGES[-1]] += time.perf_counter() - begun
    return spent


def export_all(settings: Settings, store: StageStore, *, unchanged: bool) -> None:
    """Export every instance, and commit what is new; ``unchanged`` says that nothing may be."""
    for item in load_sources(settings.sources_file):
        output = export_raw(Workplace(item, store, "unchanged")).output
        assert isinstance(output, StageFile) or not unchanged, f"{item.ref} is not unchanged"
        if isinstance(output, StageDraft):
            output.commit()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=sum(SHARES.values()))
    asked = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="bbj-unchanged-") as name:
        folder = Path(name)
        documents = write_exports(folder / "exports", asked.chunks, None)
        settings = Settings(data_dir=folder / "data", sources_file=folder / "exports" / "sources.yaml")
        store = StageStore(settings.store)
        begun = time.process_time()
        export_all(settings, store, unchanged=False)
        spent = time.process_time() - begun
        paths = raw_files(settings)
        print(f"{documents:,} documents, {len(paths):,} raw files, {hash_files(paths) / 1e6:.1f} MB", flush=True)
        print(f"first export {spent:.1f} processor seconds, peak {peak():.0f} MiB; then nothing changed:\n")
        beside(
            {
                "SHA-256 of the raw files": lambda: hash_files(paths),
                "the export step of all instances": lambda: export_all(settings, store, unchanged=True),
            }
        )


if __name__ == "__main__":
    main()
