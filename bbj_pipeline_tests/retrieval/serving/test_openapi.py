"""Requests made from the OpenAPI document, right and wrong ones: every answer is one that the document promises."""

from __future__ import annotations

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

OPERATIONS = (
    ("POST", "/search"), ("GET", "/chunks/{chunk_id}"), ("POST", "/feedback"), ("GET", "/stats"), ("GET", "/health"),
    ("GET", "/health/live"), ("GET", "/health/ready"), ("GET", "/metrics"),
)  # fmt: skip
TAKING_INPUT = OPERATIONS[:3]


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [(*operation, GenerationMode.POSITIVE) for operation in OPERATIONS]
    + [(*operation, GenerationMode.NEGATIVE) for operation in TAKING_INPUT],
)
def test_the_service_keeps_what_its_document_says(small_url: str, method: str, path: str, mode: GenerationMode) -> None:
    """No 5xx, no undocumented status, content type or shape; wrong input is refused, and right input is not.

    Except that a strict search names a generation, which a schema of single fields cannot say.
    """
    operation = schemathesis.openapi.from_url(f"{small_url}/openapi.json")[path][method]

    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    @hypothesis.settings(max_examples=20, suppress_health_check=list(hypothesis.HealthCheck))
    def check(case: schemathesis.Case) -> None:
        strict = isinstance(case.body, dict) and case.body.get("strict") is True and not case.body.get("generation")
        case.call_and_validate(excluded_checks=[positive_data_acceptance] if strict else [])

    check()
