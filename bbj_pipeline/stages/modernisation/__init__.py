"""The modernisation graph: what a document says of versions and successors, and the links that follow over all documents.

``facts`` reads one document, ``names`` and ``targets`` find the document a name or a link means, ``curated`` reads the links
that people wrote, ``graph`` joins them. Pure functions: no files, no SQL.
"""

from bbj_pipeline.stages.modernisation.curated import CuratedLink, parse_links
from bbj_pipeline.stages.modernisation.facts import FACTS_VERSION, with_facts
from bbj_pipeline.stages.modernisation.graph import DocumentLink, DroppedLink, LinkGraph, Statement, build_graph
from bbj_pipeline.stages.modernisation.targets import KnownDocument, Library

__all__ = [
    "FACTS_VERSION",
    "CuratedLink",
    "DocumentLink",
    "DroppedLink",
    "KnownDocument",
    "Library",
    "LinkGraph",
    "Statement",
    "build_graph",
    "parse_links",
    "with_facts",
]
