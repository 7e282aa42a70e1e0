"""The ``javadoc`` kind: BBj's JavaDoc JSON, one file a package, one topic a class, one section a member.

Only the kind's entry point is here; the steps live in the modules beside it.
"""

from __future__ import annotations

from bbj_pipeline.sources.javadoc.source import JavadocOptions, JavadocSource

__all__ = ["SOURCE", "JavadocOptions", "JavadocSource"]

SOURCE = JavadocSource()
