"""Great Expectations, called directly: an ephemeral context, a small frame, a list of expectations, one verdict.

Imported only when a check runs: the library takes seconds to load. No Dagster and no knowledge of stages here.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Verdict", "validate"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of each expectation whether it held, and a line: what was expected, whether it held, what was found."""

    held: tuple[bool, ...]
    lines: tuple[str, ...]


def validate(frame: pd.DataFrame, expectations: Sequence[tuple[str, str, dict[str, Any]]]) -> Verdict:
    """Validate ``frame`` against (sentence, expectation class name, arguments) triples."""
    import great_expectations as gx
    import great_expectations.expectations as gxe
    from great_expectations.data_context.types.base import ProgressBarsConfig

    logging.getLogger("great_expectations").setLevel(logging.ERROR)  # the library sets its own level when it is imported
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("frame").add_dataframe_asset("frame")
    batch = asset.add_batch_definition_whole_dataframe("whole").get_batch(batch_parameters={"dataframe": frame})
    suite = gx.ExpectationSuite(
        name="suite", expectations=[getattr(gxe, name)(**arguments) for _, name, arguments in expectations]
    )
    results = batch.validate(suite).results
    lines = tuple(
        f"{'held' if result.success else 'BROKEN'}: {sentence}{_found(result.result)}"
        for (sentence, _, _), result in zip(expectations, results, strict=True)
    )
    return Verdict(tuple(bool(result.success) for result in results), lines)


def _found(result: dict[str, Any]) -> str:
    """Return what was found, in the words of the two result shapes of column expectations."""
    if "unexpected_count" in result:
        return f" ({result['unexpected_count']} of {result['element_count']} rows otherwise)"
    return f" (found {result['observed_value']:.4g})" if isinstance(result.get("observed_value"), int | float) else ""
