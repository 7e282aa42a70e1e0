"""The ``mdx`` kind: folders of Docusaurus ``.md``/``.mdx`` files, rendered as CommonMark and read by the shared HTML walker.

Only the kind's entry point is here; the steps live in the modules beside it.
"""

from __future__ import annotations

from bbj_pipeline.sources.mdx.source import MdxOptions, MdxSource

__all__ = ["SOURCE", "MdxOptions", "MdxSource"]

SOURCE = MdxSource()
