"""PDF manuals as a source: ``SOURCE`` for the registry."""

from bbj_pipeline.sources.pdf.source import SOURCE

__all__ = ["SOURCE"]
