"""Markup to blocks, shared by every source that reads HTML: parsing that tells what it repaired, and one walker.

What is peculiar to a format (Docusaurus, WordPress, Flare) is a ``MarkupProfile`` that lives with that source.
"""

from bbj_pipeline.sources.markup.code import code_text, language_of, text_of
from bbj_pipeline.sources.markup.encoding import Decoded, decode
from bbj_pipeline.sources.markup.links import links_of
from bbj_pipeline.sources.markup.parsing import (
    ENTITIES,
    MAX_DEPTH,
    MarkupError,
    Parsed,
    parse_document,
    parse_fragment,
    refuse_entities,
)
from bbj_pipeline.sources.markup.profile import DEFAULT, Code, MarkupProfile, Note
from bbj_pipeline.sources.markup.walker import to_blocks

__all__ = [
    "DEFAULT",
    "ENTITIES",
    "MAX_DEPTH",
    "Code",
    "Decoded",
    "MarkupError",
    "MarkupProfile",
    "Note",
    "Parsed",
    "code_text",
    "decode",
    "language_of",
    "links_of",
    "parse_document",
    "parse_fragment",
    "refuse_entities",
    "text_of",
    "to_blocks",
]
