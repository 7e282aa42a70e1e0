"""Peak memory of exporting and parsing generated corpora of growing size through the pipeline's own steps.

    python -m benchmarks.memory [KIND …] [--sizes 100,1000,7000]

Each measurement is a process of its own that runs the real steps (``export_raw``, ``parse_raw``) over a store on disk.
``start`` is its peak after everything is imported, ``export`` and ``parse`` are the growth of the peak in each step. The
peak is that of the process's memory (``VmHWM``; where the system has none, ``ru_maxrss``). Flat means: 7,000 documents need
what 100 need, but for the list of their keys.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.generate import GENERATORS, generate

SIZES = "100,1000,7000"


def main() -> None:
    arguments = argparse.ArgumentParser(description="Peak memory by corpus size")
    arguments.add_argument("kinds", nargs="*", help=f"of {', '.join(GENERATORS)} (default: all)")
    arguments.add_argument("--sizes", default=SIZES, help=f"numbers of documents (default: {SIZES})")
    arguments.add_argument("--child", nargs=2, metavar=("KIND", "PATH"), help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.child:
        print(json.dumps(measure(*given.child)))
        return
    print(
        f"{'':12}{'documents':>10}{'MB':>8}{'start':>8}{'export':>9}{'parse':>8}{'export s':>10}{'parse s':>9}   memory in MiB"
    )
    for kind in given.kinds or GENERATORS:
        for size in map(int, given.sizes.split(",")):
            with tempfile.TemporaryDirectory(prefix="bbj_pipeline-") as folder:
                path = generate(kind, Path(folder) / "corpus", size)
                megabytes = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
                found = measured(kind, path)
            numbers = "".join(f"{found[name]:{width}.1f}" for name, width in (("start", 8), ("export", 9), ("parse", 8)))
            print(f"{kind:12}{found['topics']:10}{megabytes:8.1f}{numbers}{found['export_s']:10.1f}{found['parse_s']:9.1f}")
            sys.stdout.flush()


def measured(kind: str, path: Path) -> dict[str, float]:
    """Measure in a process of its own; see ``measure``."""
    command = [sys.executable, "-m", "benchmarks.memory", "--child", kind, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(kind: str, path: str) -> dict[str, float]:
    """Export and parse the corpus at ``path``; returns MiB of peak at the start and of its growth a step, and CPU seconds."""
    # imported here, so that the parent, whose memory a child may be charged with, stays small
    import time

    from bbj_pipeline.orchestration.steps.export import export_raw
    from bbj_pipeline.orchestration.steps.transform import parse_raw
    from bbj_pipeline.orchestration.steps.workplace import StepResult, Workplace
    from bbj_pipeline.records import InstanceRef
    from bbj_pipeline.sources.config import ConfiguredInstance, build_options
    from bbj_pipeline.sources.registry import get_source
    from bbj_pipeline.storage.stage_files import StageDraft, StageFile, StageStore

    def committed(result: StepResult) -> StageFile:
        return result.output.commit() if isinstance(result.output, StageDraft) else result.output

    source = get_source(kind.partition(".")[0])
    options = build_options(source, {"path": path}, base=Path.cwd(), where=kind)
    with tempfile.TemporaryDirectory(prefix="bbj_pipeline-") as store:
        instance = ConfiguredInstance(InstanceRef(source.kind, "generated"), source, options)
        at = Workplace(instance, StageStore(store), "memory")
        start, began = peak(), time.process_time()
        raw = committed(export_raw(at))
        exported, between = peak(), time.process_time()
        topics = committed(parse_raw(at, raw))
        parsed, end = peak(), time.process_time()
    return {
        "topics": topics.info.rows - topics.info.rejects,
        "start": start,
        "export": exported - start,
        "parse": parsed - exported,
        "export_s": between - began,
        "parse_s": end - between,
    }


def peak() -> float:
    """Peak resident memory of this process so far, in MiB."""
    try:
        found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024


if __name__ == "__main__":
    main()
