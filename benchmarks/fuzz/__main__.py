"""Mutates real documents of every kind and parses them: no exception, keys in = keys out, valid blocks, bounded time.

    python -m benchmarks.fuzz KIND|all --cases N --seed S [--save DIR] [--jobs J] [--minutes M] [--case N]

A case is decided by kind, seed and number alone; ``--case`` repeats one, ``--save`` keeps the inputs of failures. Every
twentieth case mutates a folder (or an archive) and reads it through the exporter.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bbj_pipeline.sources.registry import source_kinds
from benchmarks.fuzz.campaign import SLOW_SECONDS, Report, campaign
from benchmarks.fuzz.cases import run_case


def main() -> int:
    """Run the campaign that the command line asks for; the exit code is 1 when a case failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*source_kinds(), "all"])
    parser.add_argument("--cases", type=int, default=10_000, help="cases a kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="folder for the inputs of failures")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end a kind after so long, with what it reached")
    parser.add_argument("--case", type=int, help="repeat this one case")
    asked = parser.parse_args()
    kinds = list(source_kinds()) if asked.kind == "all" else [asked.kind]
    failed = False
    for kind in kinds:
        if asked.case is not None:
            report = Report(kind, [run_case(kind, asked.seed, asked.case, asked.save)])
        else:
            report = campaign(kind, cases=asked.cases, seed=asked.seed, save=asked.save, jobs=asked.jobs, minutes=asked.minutes)
        for outcome in report.outcomes:
            if outcome.problems or outcome.seconds > SLOW_SECONDS:
                failed = failed or bool(outcome.problems)
                print(f"{kind} seed {asked.seed} case {outcome.case} ({outcome.seconds:.2f} s)", *outcome.problems, sep="\n  ")
        print(report.line(), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
