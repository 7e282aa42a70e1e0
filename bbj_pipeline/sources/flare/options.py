"""The options a Flare instance may have in ``sources.yaml``."""

from __future__ import annotations

from pydantic import Field, field_validator

from bbj_pipeline.sources.contract import SourceOptions
from bbj_pipeline.sources.flare.conditions import parse_expression

__all__ = ["FlareOptions"]


class FlareOptions(SourceOptions):
    """Where the export lies, and for a raw project what its target would choose."""

    conditions: str | None = Field(
        default=None,
        description="Condition expression of the Flare target, as in its .fltar file: exclude[Default.PrintOnly]. Topics and"
        " content that it excludes are not part of the instance. Only raw projects carry conditions.",
    )
    toc: str | None = Field(
        default=None,
        description="Name of the .fltoc file that decides section paths where a topic stands in several; unset: by name.",
    )

    @field_validator("conditions")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        if value is not None:
            parse_expression(value)
        return value
