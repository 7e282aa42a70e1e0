"""What is expected of an instance's chunks before they are published: sizes, form, overlap, coverage, copies and drift.

Pure functions of stage files and of what is published, as those of ``quality``. A blocking expectation is one that would serve
a damaged text; all others are for a person to look at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bbj_pipeline.orchestration.quality import (
    Expectation,
    Finding,
    Judged,
    all_true,
    between,
    frame_of,
    judge,
    mean_between,
    offenders,
)
from bbj_pipeline.records import GENERATIONS
from bbj_pipeline.stages.chunks.packing import limits_for
from bbj_pipeline.stages.chunks.partition import OVERLAP_MAX, OVERLAP_MIN
from bbj_pipeline.storage.stage_files import StageFile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_DRIFT", "judge_chunks", "judge_coverage", "judge_drift", "uncovered"]

OVERSIZED_SHARE = 0.10
"""Share of a type's chunks that may be over its target: code and tables that would be torn."""
TINY_TOKENS, TINY_SHARE = 20, 0.25
"""A chunk of so few tokens says nothing alone; more than this share of them means sections were not merged."""
COPIED_SHARE = 0.5
"""Share of chunks with the very text of another: from there, an export was made twice, or chrome is taken for content."""
MAX_DRIFT, DRIFT_CHUNKS = 0.10, 10
"""A label's share may move by so much from one publication to the next, and by a few chunks of a small source anyway."""
_UNTARGETED = frozenset({"example"})
"""Types that are as long as they are."""
_WORD = re.compile(r"\w+")
_MISSING_SHOWN = 5


def judge_chunks(file: StageFile, *, window: int) -> dict[str, Finding]:
    """Check the sizes and the form of an instance's chunks, and how much of it is copies."""
    names = ["key", "url", "ordinal", "tokens", "overlap", "contextual_header", "content", "doc_type", "reject_code"]
    frame = frame_of(file, names)
    frame = frame[frame["reject_code"].isna()].copy()
    high = {doc_type: limits_for(doc_type, window, 1.0).high for doc_type in frame["doc_type"].unique()}
    content = frame["content"].astype(str)
    frame["fences"] = [_fences_balanced(text) for text in content]
    frame["filled"] = content.str.strip().str.len() > 0
    frame["header"] = frame["contextual_header"].astype(str).str.len() > 0
    frame["over"] = [
        float(tokens > high[kind] and kind not in _UNTARGETED)
        for tokens, kind in zip(frame["tokens"], frame["doc_type"], strict=True)
    ]
    frame["tiny"] = (frame["tokens"] < TINY_TOKENS).astype(float)
    frame["copied"] = content.duplicated().astype(float)
    shares = frame["overlap"] / frame["tokens"].clip(lower=1)
    frame["overlap_share"] = shares.where(frame["overlap"] > 0)
    outside = (frame["tokens"] < 1) | (frame["tokens"] > window) | ~frame["filled"]
    wide = frame["overlap_share"] > OVERLAP_MAX
    return judge(
        frame[["key", "tokens", "fences", "filled", "header", "over", "tiny", "copied", "overlap_share"]],
        [
            Judged(
                "chunk_window",
                [
                    between(f"every chunk has 1 to {window} tokens", "tokens", 1, window),
                    all_true("no chunk is empty", "filled"),
                ],
                remedy="report this as a bug of the chunker with the offending key: the model would not read the rest",
                numbers={
                    "chunks": len(frame),
                    "tokens": int(frame["tokens"].sum()),
                    "largest": int(frame["tokens"].max()) if len(frame) else 0,
                    "outside": int(outside.sum()),
                },
                texts={"offenders": offenders(_places(frame[outside]))},
            ),
            Judged(
                "fences_balanced",
                [all_true("no code fence is torn", "fences")],
                remedy="report this as a bug of the chunker with the offending key: half of the code would be read as prose",
                numbers={"torn": int((~frame["fences"].astype(bool)).sum())},
                texts={"offenders": offenders(_places(frame[~frame["fences"].astype(bool)]))},
            ),
            Judged(
                "headers_present",
                [all_true("every chunk has a contextual header", "header")],
                remedy="give these documents a title: a chunk without a header is found without its context",
                numbers={"without_header": int((~frame["header"].astype(bool)).sum())},
                texts={"offenders": offenders(_places(frame[~frame["header"].astype(bool)]))},
            ),
            Judged(
                "sizes_by_type",
                [
                    mean_between(f"at most {OVERSIZED_SHARE:.0%} are over their type's target", "over", 0, OVERSIZED_SHARE),
                    mean_between(f"at most {TINY_SHARE:.0%} have under {TINY_TOKENS} tokens", "tiny", 0, TINY_SHARE),
                ],
                remedy="look at the largest: tables and code over the target may be split in the source",
                numbers={"over_target": int(frame["over"].sum()), "tiny": int(frame["tiny"].sum())},
                texts={
                    "sizes": _sizes(frame, high),
                    "offenders": offenders(_places(frame[frame["over"] > 0].sort_values("tokens", ascending=False))),
                },
            ),
            Judged(
                "prose_overlap",
                _overlap(frame),
                remedy="report this as a bug of the chunker with the offending key",
                numbers={
                    "continued": int((frame["overlap"] > 0).sum()),
                    "median_overlap": round(float(frame["overlap_share"].median()), 4) if (frame["overlap"] > 0).any() else 0.0,
                },
                texts={"offenders": offenders(_places(frame[wide.fillna(False)]))},
            ),
            Judged(
                "duplicate_share",
                [mean_between(f"at most {COPIED_SHARE:.0%} have the text of another one", "copied", 0, COPIED_SHARE)],
                remedy="look for chrome that is taken for content, or for pages exported twice; search shows one of each",
                numbers={"copied": int(frame["copied"].sum())},
                texts={"offenders": offenders(_most_copied(frame))},
            ),
        ],
    )  # fmt: skip


def judge_coverage(missing: Mapping[str, Sequence[str]], documents: int) -> dict[str, Finding]:
    """Check that the chunks of each document hold all words of its blocks; ``missing`` are words by key, where some are not."""
    import pandas as pd

    frame = pd.DataFrame({"covered": [0.0] * len(missing) + [1.0] * (documents - len(missing))})
    listed = (f"`{key}`: {', '.join(f'`{word}`' for word in words[:_MISSING_SHOWN])}" for key, words in missing.items())
    return judge(
        frame,
        [
            Judged(
                "blocks_covered",
                [mean_between("the chunks of every document cover all its blocks", "covered", 1.0, 1.0)],
                remedy="report this as a bug of the chunker with the offending key: what is missing cannot be found",
                numbers={"documents": documents, "not_covered": len(missing)},
                texts={"offenders": offenders(listed)},
            )
        ],
    )


def judge_drift(file: StageFile, published: Mapping[tuple[str, ...], int]) -> dict[str, Finding]:
    """Compare the shares of the labels with those of what is published (chunks by generations); nothing published, no drift."""
    import pandas as pd

    now: Counter[tuple[str, ...]] = Counter()
    for table in file.row_groups(["generations", "reject_code"]):
        for row in table.to_pylist():
            if row["reject_code"] is None:
                now[tuple(row["generations"])] += 1
    labels = (*GENERATIONS, "unknown")
    before, after = _shares(published, labels), _shares(now, labels)
    total = max(1, sum(now.values()))
    allowed = max(MAX_DRIFT, DRIFT_CHUNKS / total)
    frame = pd.DataFrame({"label": labels, "moved": [abs(after[name] - before[name]) if published else 0.0 for name in labels]})
    lines = ["| label | published | now |", "| --- | --: | --: |"]
    lines += [
        f"| {name} | {before[name]:.1%} | {after[name]:.1%} |" if published else f"| {name} | | {after[name]:.1%} |"
        for name in labels
    ]
    return judge(
        frame,
        [
            Judged(
                "label_drift",
                [between(f"no label's share of the chunks moved by more than {allowed:.0%}", "moved", 0.0, allowed)],
                remedy="see whether the content, the rules or the parser changed; roll back if search should not follow",
                numbers={
                    "chunks": total,
                    "published_chunks": sum(published.values()),
                    "largest_move": float(frame["moved"].max()),
                },
                texts={"labels": "\n".join(lines)},
            )
        ],
    )  # fmt: skip


def uncovered(tagged: StageFile, chunks: StageFile, known: frozenset[str]) -> tuple[dict[str, list[str]], list[str], int]:
    """Return the missing words of each document that its chunks do not cover, the units found covered, and how many there are.

    ``known`` are units (hashes of input and code) that were found covered before: they are not read again.
    """
    held: dict[str, set[str]] = {}
    units: dict[str, str] = {}
    present: set[str] = set()
    for table in chunks.row_groups(["unit_key", "unit_hash", "heading_path", "contextual_header", "content", "reject_code"]):
        present.update(map(str, table.column("unit_key").to_pylist()))
        for row in _rows(table, known):
            units[row["unit_key"]] = row["unit_hash"]
            words = held.setdefault(row["unit_key"], set())
            if row["reject_code"] is None:
                words.update(_words("\n".join((*row["heading_path"], row["contextual_header"], row["content"]))))
    missing: dict[str, list[str]] = {}
    documents = 0
    for table in tagged.row_groups(["key", "reject_code", "blocks"]):
        keys = [str(key) for key in table.column("key").to_pylist()]
        codes = table.column("reject_code").to_pylist()
        blocks = table.column("blocks")
        for position, (key, code) in enumerate(zip(keys, codes, strict=True)):
            documents += code is None
            if code is None and (key in held or key not in present):  # without a row of its own a document is lost as a whole
                wanted = {word for block in blocks[position].as_py() for word in _words(_text(block))}
                if lost := sorted(wanted - held.get(key, set())):
                    missing[key] = lost
    return missing, sorted(unit for key, unit in units.items() if key not in missing), documents


def _rows(table: Any, known: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of units that are not known; others are not decoded."""
    wanted = [number for number, unit in enumerate(table.column("unit_hash").to_pylist()) if unit not in known]
    return iter(table.take(wanted).to_pylist()) if wanted else iter(())


def _text(block: Mapping[str, Any]) -> str:
    return f"{block['title'] or ''}\n{block['text'] or ''}"


def _words(text: str) -> Iterable[str]:
    return _WORD.findall(text.casefold())


def _shares(counts: Mapping[tuple[str, ...], int], labels: Sequence[str]) -> dict[str, float]:
    total = max(1, sum(counts.values()))
    return {
        name: sum(n for found, n in counts.items() if (name in found) or (name == "unknown" and not found)) / total
        for name in labels
    }


def _overlap(frame: pd.DataFrame) -> list[Expectation]:
    """The bound of each overlap, and their median where enough chunks go on from the one before to have one."""
    each = between(f"an overlap is at most {OVERLAP_MAX:.0%} of its chunk", "overlap_share", None, OVERLAP_MAX)
    if (frame["overlap"] > 0).sum() < DRIFT_CHUNKS:
        return [each]
    arguments = {"column": "overlap_share", "min_value": OVERLAP_MIN, "max_value": OVERLAP_MAX}
    return [each, (f"the median overlap is {OVERLAP_MIN:.0%} to {OVERLAP_MAX:.0%}", "ExpectColumnMedianToBeBetween", arguments)]


def _sizes(frame: pd.DataFrame, high: Mapping[str, int]) -> str:
    lines = ["| doc_type | chunks | median | p95 | largest | target at most |", "| --- | --: | --: | --: | --: | --: |"]
    for name, sizes in frame.groupby("doc_type")["tokens"]:
        row = sizes.describe(percentiles=[0.5, 0.95])
        target = "" if name in _UNTARGETED else str(high[str(name)])
        lines.append(f"| {name} | {row['count']:.0f} | {row['50%']:.0f} | {row['95%']:.0f} | {row['max']:.0f} | {target} |")
    return "\n".join(lines)


def _places(frame: pd.DataFrame) -> Iterator[str]:
    for row in frame.itertuples():
        place = f"`{row.key}` chunk {row.ordinal} ({row.tokens} tokens)"
        yield f"[{place}]({row.url})" if isinstance(row.url, str) and row.url else place


def _most_copied(frame: pd.DataFrame) -> Iterator[str]:
    copied = frame[frame["content"].duplicated(keep=False)]
    for content, number in copied["content"].value_counts().items():
        first = copied[copied["content"] == content].iloc[0]
        yield f"{number} × `{first.key}` chunk {first.ordinal}"


def _fences_balanced(content: str) -> bool:
    """A fence is closed by a line of at least as many back-ticks (CommonMark 4.5)."""
    open_ticks = 0
    for line in content.split("\n"):
        stripped = line.strip()
        ticks = len(stripped) - len(stripped.lstrip("`"))
        if open_ticks == 0 and ticks >= 3 and "`" not in stripped[ticks:]:
            open_ticks = ticks
        elif open_ticks and ticks >= open_ticks and ticks == len(stripped):
            open_ticks = 0
    return open_ticks == 0
