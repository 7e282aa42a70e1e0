"""BBj programs as a source: ``SOURCE`` for the registry, the lexer's ``declarations`` for whoever splits code."""

from bbj_pipeline.sources.bbj_source.declarations import Declaration, declarations
from bbj_pipeline.sources.bbj_source.source import SOURCE

__all__ = ["SOURCE", "Declaration", "declarations"]
