"""What a refresh costs by what changed since the last: the real pipeline over generated exports of all seven kinds.

    python -m benchmarks.incremental [--chunks N] [--real N] [--corpora FILE]

Dagster (an ephemeral instance), the embedded database in a temporary folder and every stage are real. The first texts are
embedded by the offline model; the others get made-up unit vectors around centres, which depend on the text alone: embedding is
measured elsewhere. Each line of the table is one refresh of all instances, the largest first. Seconds are of the wall clock,
and of the processor in this process and in the database's backends together, which a busy machine distorts less. Memory is
what this process held before the scenario, and its peak in it; with ``--real 0`` no model is loaded. ``--corpora`` adds the
instances of another sources file, whose paths are relative to it. Then an unchanged refresh is set beside hashing the raw
files, in rounds that alternate. Nothing is asserted: numbers are for people.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import dagster as dg
import numpy as np
import psutil

from bbj_pipeline.models import load_embedder
from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.orchestration.refresh import InstanceReport, refresh
from bbj_pipeline.orchestration.stage_names import CHUNKS
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.config import load_sources
from bbj_pipeline.stages.contract import Embedder, Tokenizer, Vector, Vectors
from bbj_pipeline.storage.database import Database
from benchmarks.large import CENTRES, SHARES
from benchmarks.memory import peak
from benchmarks.search import Server
from benchmarks.unchanged import beside, hash_files, raw_files, unchanged_stages, write_exports

HEADER = """
| refresh of all instances after | instances | documents parsed / reused / deleted | chunks cut / copied \
| embedded computed / reused | rows inserted / updated / deleted / unchanged \
| withheld | seconds | processor seconds | MiB before / peak |
|---|---|---|---|---|---|---|---|---|---|"""
MISSING = 0.15


class PartlyReal:
    """The model embeds the first ``real`` texts, in whole batches; the others get unit vectors drawn from hash and ``seed``."""

    def __init__(self, model: Embedder, *, real: int, seed: int) -> None:
        self.fingerprint = f"partly-made-up-{seed}:{model.fingerprint}"
        self.dimension = model.dimension
        self.texts = Counter[str]()
        self._model, self._real, self._seed = model, real, seed
        self._centres = np.random.default_rng(seed).standard_normal((CENTRES, model.dimension)).astype(np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.texts["real"] < self._real:
            self.texts["real"] += len(texts)
            return self._model.embed_documents(texts)
        self.texts["made up"] += len(texts)
        return np.stack([self._made_up(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")) for text in texts])

    def embed_query(self, text: str) -> Vector:
        return self._model.embed_query(text)

    def _made_up(self, number: int) -> Vector:
        rng = np.random.default_rng((self._seed, number))
        near = self._centres[number % CENTRES] + 0.8 * rng.standard_normal(self.dimension, dtype=np.float32)
        return np.asarray(near / np.linalg.norm(near), dtype=np.float32)


class Renamed:
    """A tokenizer that counts as another does under another name: to the chunker a new version, so every document is cut."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.name, self.window, self.count = f"{tokenizer.name}, renamed", tokenizer.window, tokenizer.count


class OtherChunker(Platform):
    """The same platform with a chunker of another version."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Renamed(super().tokenizer)


class Bench:
    """The settings, the Dagster instance and the database's server of one campaign."""

    def __init__(self, settings: Settings, instance: dg.DagsterInstance, server: Server) -> None:
        self.settings, self.instance, self.server = settings, instance, server
        kinds = list(SHARES)  # the largest first: its vectors are indexed at once, see RESULTS.md
        self.refs = sorted((item.ref for item in load_sources(settings.sources_file)), key=lambda ref: kinds.index(ref.kind))

    def refresh(self, platform: Platform) -> Iterator[InstanceReport]:
        definitions = build_definitions(self.settings, platform=platform, max_retries=0)
        return refresh(definitions, self.instance, self.refs, log_level="CRITICAL")

    def scenario(self, name: str, platform: Platform, after: Callable[[InstanceReport], None] = lambda _: None) -> None:
        """Refresh all instances and print the line of the table; ``after`` is called with each report."""
        reset_peak()
        held = psutil.Process().memory_info().rss / 2**20
        wall, processor = time.perf_counter(), time.process_time() + self.server.seconds()
        reports = []
        for report in self.refresh(platform):
            reports.append(report)
            after(report)
        seconds = time.perf_counter() - wall, time.process_time() + self.server.seconds() - processor
        documents, embeddings, rows = Counter[str](), Counter[str](), Counter[str]()
        for report in reports:
            documents.update(report.documents)
            embeddings.update(report.embeddings)
            rows.update(report.rows)
            if report.error:
                print(f"| {name}: {report.kind}/{report.instance} FAILED: {report.error}", flush=True)
        cut = [self._cut(ref) for ref in self.refs]
        cells = [
            name,
            ", ".join(f"{count} {status}" for status, count in Counter(report.status for report in reports).items()),
            " / ".join(f"{documents[key]:,}" for key in ("parsed", "reused", "deleted")),
            f"{sum(new for new, _ in cut):,} / {sum(old for _, old in cut):,}",
            " / ".join(f"{embeddings[key]:,}" for key in ("computed", "reused")),
            " / ".join(f"{rows[key]:,}" for key in ("inserted", "updated", "deleted", "unchanged")),
            f"{sum(report.withheld for report in reports):,}",
            f"{seconds[0]:.1f}",
            f"{seconds[1]:.1f}",
            f"{held:.0f} / {peak():.0f}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)

    def _cut(self, ref: InstanceRef) -> tuple[int, int]:
        """Chunks made anew and copied in the last run."""
        event = self.instance.get_latest_materialization_event(dg.AssetKey([ref.kind, CHUNKS]))
        if event is None or event.asset_materialization is None:
            return 0, 0
        found = event.asset_materialization.metadata
        return int(str(found["computed"].value)), int(str(found["reused"].value))


def reset_peak() -> None:
    """Let the peak of this process begin anew, where the kernel can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        print("the peak of memory cannot be reset here: it is that of the whole run", flush=True)


def compare(bench: Bench, platform: Platform) -> None:
    """Print an unchanged refresh beside hashing the raw files, and the seconds of its stages."""
    paths = raw_files(bench.settings)
    works: dict[str, Callable[[], object]] = {
        "SHA-256 of the raw files": lambda: hash_files(paths),
        "the six stages, without Dagster": lambda: unchanged_stages(bench.settings, platform),
        "the same through Dagster": lambda: list(bench.refresh(platform)),
    }
    print(f"\n{len(paths):,} raw files, {hash_files(paths) / 1e6:.1f} MB; nothing changed:\n")
    beside(works, server=bench.server)
    stages = unchanged_stages(bench.settings, platform)
    print(f"\nseconds a stage: {', '.join(f'{name} {seconds:.2f}' for name, seconds in stages.items())}\n", flush=True)


def spaces(report: InstanceReport, database: Database, embedders: Sequence[PartlyReal]) -> str:
    """The state of each embedding space after an instance's run, and the rows that are served."""
    with database.connection() as connection:
        states = dict(connection.execute("select fingerprint, state from embedding_spaces").fetchall())
        served = connection.execute("select count(*) from doc_chunks").fetchone()
    shown = ", ".join(f"model {number} {states.get(item.fingerprint)}" for number, item in enumerate(embedders, 1))
    return f"{report.kind}/{report.instance}: {shown}, {served[0] if served else 0:,} rows served"


def campaign(folder: Path, chunks: int, real: int, corpora: Path | None) -> None:
    begun = time.perf_counter()
    exports = folder / "exports"
    documents = write_exports(exports, chunks, corpora)
    print(f"{documents:,} documents written in {time.perf_counter() - begun:.0f} s for some {chunks:,} chunks", flush=True)
    settings = Settings(data_dir=folder / "data", sources_file=exports / "sources.yaml")
    model = load_embedder(settings)
    first, second = (PartlyReal(model, real=real, seed=seed) for seed in (1, 2))
    topics = sorted((exports / "flare" / "Content").rglob("topic_*.htm"))
    with (
        dg.DagsterInstance.ephemeral() as instance,
        Platform(settings, embedder=first) as platform,
        OtherChunker(settings, embedder=first) as rechunking,
        OtherChunker(settings, embedder=second) as other_model,
    ):
        database = platform.database
        bench = Bench(settings, instance, Server(settings.data_dir / "postgres"))
        print(HEADER)
        bench.scenario("nothing: full load", platform)
        bench.scenario("no change", platform)
        compare(bench, platform)
        print(HEADER)
        text = topics[10].read_text(encoding="utf-8")
        topics[10].write_text(text.replace("</body>", "<p>One more sentence.</p></body>"), encoding="utf-8")
        bench.scenario("one topic changed", platform)
        topics[20].unlink()
        bench.scenario("one topic deleted", platform)
        topics[30].rename(topics[30].with_name("moved.htm"))
        bench.scenario("one topic moved", platform)
        gone = topics[40 : 40 + int(MISSING * len(topics)) + 1]
        for topic in gone:
            aside = folder / "aside" / topic.relative_to(exports)
            aside.parent.mkdir(parents=True, exist_ok=True)
            topic.rename(aside)
        bench.scenario(f"{MISSING:.0%} of the Flare topics missing", platform)
        shutil.copytree(folder / "aside", exports, dirs_exist_ok=True)
        bench.scenario("these topics back", platform)
        bench.scenario("another chunker version", rechunking)
        states: list[str] = []
        bench.scenario(
            "another model",
            other_model,
            lambda report: states.append(spaces(report, database, (first, second))),
        )
        print("\nafter each instance of the last:", *states, sep="\n- ")
        for name, embedder in (("first", first), ("second", second)):
            given, real = embedder.texts.total(), embedder.texts["real"]
            print(f"- the {name} model was given {given:,} texts and computed {real:,}; the others were made up")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=sum(SHARES.values()))
    parser.add_argument("--real", type=int, default=500, help="texts that the offline model embeds, the first of each model")
    parser.add_argument("--corpora", type=Path, help="sources file of further instances (default: none)")
    asked = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="bbj-incremental-", ignore_cleanup_errors=True) as folder:
        campaign(Path(folder), asked.chunks, asked.real, asked.corpora)


if __name__ == "__main__":
    main()
