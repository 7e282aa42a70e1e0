"""The tag stage: which generations of BBj a topic speaks of, with the evidence for each label, and its document type.

The cues are data, in ``generations/rules``; how they are found, weighed and overruled by hand lies in ``generations``.
"Unknown" is an empty tuple, never a label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from bbj_pipeline.records import GENERATIONS, DocType, Evidence, Generation, TaggedDoc, Topic
from bbj_pipeline.stages.doc_types import classify
from bbj_pipeline.stages.generations.choice import in_order
from bbj_pipeline.stages.generations.cues import find_cues
from bbj_pipeline.stages.generations.labels import judge
from bbj_pipeline.stages.generations.overrides import Overrides

__all__ = ["TAGGER_VERSION", "confidence", "generations_at", "tag"]

TAGGER_VERSION = "5"

_NO_OVERRIDES = Overrides()


def tag(
    topic: Topic,
    *,
    default_generations: tuple[Generation, ...] = (),
    default_doc_type: DocType = "concept",
    overrides: Overrides = _NO_OVERRIDES,
) -> TaggedDoc:
    """Return the topic with its generations in the order of the closed list, their evidence and its document type.

    ``default_generations`` is a hint of the source: it labels a topic only when no cue is found. ``all`` is given to a topic
    or section of the universal language, that is with its cues and without those of a user interface. ``overrides`` are what
    a person said, and have the last word. A class reference is about one object and has no labels by section.
    """
    doc_type, reason = classify(topic, default_doc_type)
    cues = find_cues(topic)
    verdict = judge(topic, cues, by_section=doc_type != "api-reference")
    generations, evidence = verdict.generations, verdict.evidence
    if not generations and not cues.hits:
        generations = in_order(default_generations)
        evidence = tuple(Evidence(label, "default of the source", "default", 1.0) for label in generations)
    return overrides.apply(TaggedDoc(topic, generations, evidence, doc_type, reason, verdict.sections))


def generations_at(doc: TaggedDoc, first_block: int, end_block: int) -> tuple[Generation, ...]:
    """Return the generations that blocks ``first_block`` to ``end_block`` (excluded) speak of, in the order of the closed list.

    That is the union of what each says: a section's labels where it has its own, the document's elsewhere. A heading speaks
    for what stands under it and says nothing alone, unless the range holds nothing else.
    """
    if not doc.sections:
        return doc.generations
    labels: set[Generation] = set()
    plain = 0
    for section in doc.sections:
        first, end = max(first_block, section.first_block), min(end_block, section.end_block)
        if first < end:
            labels.update(section.generations)
            plain += sum(1 for block in doc.topic.blocks[first:end] if block.type != "heading")
    body = sum(1 for block in doc.topic.blocks[first_block:end_block] if block.type != "heading")
    return doc.generations if not labels or body > plain else in_order(labels)


def confidence(doc: TaggedDoc) -> Mapping[Generation, float]:
    """Return how sure each label of the document is, between 0 and 1: ``1 - 2 ** -w`` of the weight ``w`` of its evidence.

    One cue of code gives 0.5, a second one 0.75. What a person said is certain; a default of the source is a quarter.
    """
    weights: defaultdict[Generation, float] = defaultdict(float)
    fixed: dict[Generation, float] = {}
    for item in doc.evidence:
        weights[item.label] += item.weight
        if item.where in ("override", "default"):
            fixed[item.label] = 1.0 if item.where == "override" else 0.25
    return {label: round(fixed.get(label, 1 - 2 ** -weights[label]), 3) for label in GENERATIONS if label in doc.generations}
