"""MadCap Flare: Clean XHTML exports, or raw projects with snippets, variables, conditions and tables of contents."""

from bbj_pipeline.sources.flare.options import FlareOptions
from bbj_pipeline.sources.flare.source import FlareSource

__all__ = ["SOURCE", "FlareOptions"]

SOURCE = FlareSource()
