"""What the reports need of a document as a whole; it stands in the metadata of the document's first chunk, once.

Links and the place in the source's hierarchy are no use to a passage, and would be stored with each of them.
"""

from __future__ import annotations

from typing import Any

from bbj_pipeline.records import Topic

__all__ = ["document_facts"]


def document_facts(topic: Topic) -> dict[str, Any]:
    """Return ``links`` (pairs of text and target), ``section_path`` and ``in_toc`` of the topic, as far as it has them."""
    values = {
        "links": topic.metadata.get("links"),
        "section_path": list(topic.section_path),
        "in_toc": topic.metadata.get("in_toc"),
    }
    return {name: value for name, value in values.items() if value or value is False}
