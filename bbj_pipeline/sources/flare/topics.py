"""One topic's bytes to a ``Topic`` or a ``Reject``, and the rule by which a topic gets its title.

No files are listed here: resources come through ``read``, and what the listing knew through the raw document's metadata.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from lxml import etree

from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.sources.contract import ReadResource
from bbj_pipeline.sources.flare.conditions import TargetConditions, parse_expression
from bbj_pipeline.sources.flare.madcap import Findings, Scope, may_have_madcap, resolve, set_numbers_apart
from bbj_pipeline.sources.flare.options import FlareOptions
from bbj_pipeline.sources.flare.profile import FLARE
from bbj_pipeline.sources.flare.project import possible_keys
from bbj_pipeline.sources.flare.variables import read_variables, substitute
from bbj_pipeline.sources.folder import public_url_of
from bbj_pipeline.sources.markup import MarkupError, links_of, parse_document, text_of, to_blocks

__all__ = ["file_title", "own_title", "parse_topic", "variables_of"]

_NO_LONGER_VALID = frozenset(("deprecated", "superseded", "notimplemented"))
"""Tags of a whole topic that tell its reader not to rely on it."""


def parse_topic(raw: RawDocument, options: FlareOptions, read: ReadResource) -> Topic | Reject:
    """Parse one topic.

    ``raw.metadata`` may have ``content_root``, ``project_root``, ``section_path``, ``toc_title`` and ``linked_titles``, the
    titles of the topics that empty cross references lead to, by key.
    """
    try:
        parsed = parse_document(raw.content)
    except MarkupError as error:
        return Reject(raw.key, error.code, error.reason)
    root = parsed.root
    findings = Findings(warnings=list(parsed.warnings))
    variables: Mapping[str, str] = {}
    if may_have_madcap(raw.content):
        sets = (key for key in raw.dependencies if key.lower().endswith(".flvar"))
        target = parse_expression(options.conditions)
        known = {key: content for key in sets if (content := _resource(key, read)) is not None}
        try:
            variables = variables_of(known, target)
            resolved = resolve(root, raw.key, Scope(_snippets(raw, read), _titles(raw), variables, target))
        except MarkupError as error:
            return Reject(raw.key, error.code, error.reason)
        resolved.warnings[:0] = findings.warnings
        findings = resolved
    if b"autonumber" in raw.content or b"\0" in raw.content:
        set_numbers_apart(root)
    body = root.find("body")
    blocks = to_blocks(root if body is None else body, FLARE)
    if not blocks:
        return Reject(raw.key, "no-content", "the topic has no text")
    heading = next((block.text for block in blocks if block.type == "heading"), "")
    title = own_title(root, variables, findings.warnings) or heading or raw.metadata.get("toc_title") or file_title(raw.key)
    return Topic(
        kind="flare",
        key=raw.key,
        title=title,
        blocks=blocks,
        url=public_url_of(options.public_url, raw.key.removeprefix(raw.metadata.get("content_root", ""))),
        section_path=tuple(raw.metadata.get("section_path", ())),
        metadata=_metadata(root, findings, raw),
        raw_key=raw.key,
        raw_sha256=raw.sha256,
    )


def own_title(root: etree._Element, variables: Mapping[str, str], warnings: list[str]) -> str:
    """Return the text of the title element with its variables replaced; empty when there is none."""
    element = root.find("head/title")
    return substitute(text_of(element), variables, warnings) if element is not None else ""


def file_title(key: str) -> str:
    """Return a title made of the file's name."""
    return posixpath.splitext(posixpath.basename(key))[0].replace("_", " ")


def variables_of(sets: Mapping[str, bytes], target: TargetConditions) -> Mapping[str, str]:
    """Return the values that several variable sets have in a target, by ``set.name`` in lower case; a set is named after its
    file.

    Raises ``MarkupError`` naming a set that declares entities.
    """
    values: dict[str, str] = {}
    for key, content in sorted(sets.items()):
        name = posixpath.splitext(posixpath.basename(key))[0]
        try:
            found = read_variables(name, content, target)
        except MarkupError as error:
            raise MarkupError(error.code, f"in {key}: {error.reason}") from None
        for variable, value in found.items():
            values.setdefault(variable, value)
    return values


def _snippets(raw: RawDocument, read: ReadResource) -> Callable[[str, str], tuple[str, bytes] | None]:
    known = {key.lower(): key for key in raw.dependencies}
    root = raw.metadata.get("project_root", "")

    def snippet(reference: str, base: str) -> tuple[str, bytes] | None:
        key = _known(reference, base, root, known)
        content = _resource(key, read) if key is not None else None
        return (key, content) if key is not None and content is not None else None

    return snippet


def _titles(raw: RawDocument) -> Callable[[str, str], str | None]:
    titles: Mapping[str, str] = {key.lower(): title for key, title in raw.metadata.get("linked_titles", {}).items()}
    root = raw.metadata.get("project_root", "")
    return lambda reference, base: _known(reference, base, root, titles)


def _known(reference: str, base: str, root: str, known: Mapping[str, str]) -> str | None:
    """Return what is known by a key that ``reference`` may mean; keys are in lower case."""
    keys = possible_keys(reference, base=base, root=root)
    return next((known[key.lower()] for key in keys if key.lower() in known), None)


def _resource(key: str, read: ReadResource) -> bytes | None:
    """Return a resource's bytes; ``None`` for one that was refused at the export and so does not exist."""
    try:
        return read(key)
    except KeyError:
        return None


def _metadata(root: etree._Element, findings: Findings, raw: RawDocument) -> dict[str, Any]:
    listed = (meta.get("content", "") for meta in root.iterfind("head/meta") if meta.get("name", "").lower() == "keywords")
    keywords = [*findings.keywords, *(word.strip() for value in listed for word in value.split(","))]
    values: dict[str, Any] = {
        "keywords": list(dict.fromkeys(filter(None, keywords))),
        "related": list(dict.fromkeys(findings.related)),
        "conditions": list(dict.fromkeys(findings.conditions)),
        "still_valid": None if _NO_LONGER_VALID.isdisjoint(map(_bare_tag, findings.conditions)) else False,
        "inline_conditions": list(dict.fromkeys(findings.inline_conditions)),
        "warnings": list(dict.fromkeys(findings.warnings)),
        "other_section_paths": raw.metadata.get("other_section_paths", ()),
        "in_toc": raw.metadata.get("in_toc"),
        "links": links_of(root),
    }
    return {name: value for name, value in values.items() if value or value is False}


def _bare_tag(tag: str) -> str:
    """Return a condition tag without its set: ``Primary.Deprecated`` is ``deprecated``."""
    return tag.rpartition(".")[2].casefold()
