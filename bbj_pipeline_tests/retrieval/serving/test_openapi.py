"""Requests made from the OpenAPI document, right and wrong ones: every answer is one that the document promises."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance


@pytest.fixture
def document(small_url: str) -> Any:
    """The document of a running server."""
    return schemathesis.openapi.from_url(f"{small_url}/openapi.json")


schema = schemathesis.pytest.from_fixture("document")


@schema.parametrize()
@hypothesis.settings(max_examples=15, suppress_health_check=list(hypothesis.HealthCheck))
def test_the_service_keeps_what_its_document_says(case: schemathesis.Case) -> None:
    """No 5xx, no undocumented status, content type or shape; wrong input is refused, and right input is not.

    Except that a strict search names a generation, which a schema of single fields cannot say.
    """
    strict = isinstance(case.body, dict) and case.body.get("strict") is True and not case.body.get("generation")
    case.call_and_validate(excluded_checks=[positive_data_acceptance] if strict else [])
