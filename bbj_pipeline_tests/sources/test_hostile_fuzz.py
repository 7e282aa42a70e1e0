"""The short form of the fuzzing campaign, with the same mutations and the same rules."""

from __future__ import annotations

import random

import pytest

from bbj_pipeline.sources.registry import source_kinds
from benchmarks.fuzz.cases import run_case
from benchmarks.fuzz.mutations import mutate, mutate_json

CASES = 150
CASES_OF_PDF = 60
"""Fewer: each opens a process."""
SEED = 20_240


@pytest.mark.parametrize("kind", source_kinds())
def test_mutated_documents_break_nothing(kind: str) -> None:
    """No mutation of a real document makes a parser raise, lose a key, or give blocks that are not valid."""
    cases = CASES_OF_PDF if kind == "pdf" else CASES
    failed = [outcome for case in range(cases) if (outcome := run_case(kind, SEED, case)).problems]
    assert not failed


def test_a_case_is_decided_by_its_number() -> None:
    """The same seed gives the same mutation, so that a failure can be repeated."""
    for change in (mutate, mutate_json):
        first, second = (change(random.Random("x"), b'{"a": ["b", 1]}', [b"{}"], "javadoc") for _ in range(2))
        assert first == second
