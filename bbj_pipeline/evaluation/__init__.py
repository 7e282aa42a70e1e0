"""How good the search is, as numbers: judged queries, metrics, confidence intervals, ablations, floors, the run before.

Reads what is published through ``retrieval`` like any caller. No Dagster and no SQL: results are kept by ``storage``.
"""

from bbj_pipeline.evaluation.judged import JudgedQuery, JudgedSet, Judgement, load_judged
from bbj_pipeline.evaluation.metrics import METRICS, score
from bbj_pipeline.evaluation.running import Answer, ask
from bbj_pipeline.evaluation.summary import Summary, summarize

__all__ = [
    "METRICS",
    "Answer",
    "JudgedQuery",
    "JudgedSet",
    "Judgement",
    "Summary",
    "ask",
    "load_judged",
    "score",
    "summarize",
]
