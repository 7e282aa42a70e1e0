"""Parses the hostile documents of one kind in a process with hard limits and prints a JSON line a document.

Run as ``python -m bbj_pipeline_tests.sources.hostile.child KIND [NAME …]``; the tests read the lines.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

from bbj_pipeline.records import RawDocument, Topic
from bbj_pipeline.sources.config import build_options
from bbj_pipeline.sources.registry import get_source
from bbj_pipeline_tests.sources.hostile import DOCUMENTS, KEYS
from benchmarks.fuzz.checks import problems

MEMORY = 3 * 1024**3
CPU_SECONDS = 240
"""More than a PDF worker may take: it sets its own limit, which cannot be above this one."""


def examine(kind: str, name: str) -> dict[str, Any]:
    """Parse one document; say what came of it, what is wrong with that, and the processor time it took."""
    built = DOCUMENTS[kind][name]()
    content, resources = built if isinstance(built, tuple) else (built, {})
    source = get_source(kind)
    values: dict[str, Any] = {"path": ".", "public_url": "https://example.org/{path}"}
    if kind == "flare":
        values["conditions"] = "exclude[Default.X]"
    options = build_options(source, values, base=Path("/"), where="test")
    raw = RawDocument(KEYS[kind], content, dependencies=tuple(sorted(resources)))
    start = cpu_seconds()
    try:
        found = list(source.parse(raw, options, dict(resources).__getitem__))
    except Exception:
        return {"name": name, "problems": [traceback.format_exc(limit=-5)], "seconds": cpu_seconds() - start}
    seconds = cpu_seconds() - start
    topic = next((item for item in found if isinstance(item, Topic)), None)
    return {
        "name": name,
        "problems": problems(kind, raw, found),
        "seconds": seconds,
        "rejects": [item.code for item in found if not isinstance(item, Topic)][:5],
        "kept": topic is not None and any("kept" in block.text for block in topic.blocks),
        "characters": sum(len(block.text) for block in topic.blocks) if topic else 0,
    }


def cpu_seconds() -> float:
    """Return the processor time of this process and of those it has waited for: a PDF is opened by one of its own."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def own_peak() -> int:
    """Return the most kilobytes this program has held; ``ru_maxrss`` would count what its parent held before it began."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1])


def main() -> None:
    """Examine the documents named on the command line, or all of the kind."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    kind, *names = sys.argv[1:]
    for name in names or DOCUMENTS[kind]:
        print(json.dumps({"name": name, "begun": True}), flush=True)
        print(json.dumps(examine(kind, name)), flush=True)
    peak = max(own_peak(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    print(json.dumps({"name": "", "peak_kilobytes": peak}), flush=True)


if __name__ == "__main__":
    main()
