"""The exporter and the parser of the ``mdx`` kind: a folder of Markdown in, topics of typed blocks out.

How Markdown becomes HTML is in ``render``, what paths and front matter mean in ``paths`` and ``frontmatter``.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from bbj_pipeline.records import Block, RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.sources.contract import ReadResource, Source, SourceOptions, existing_folder
from bbj_pipeline.sources.folder import public_url_of, read_folder
from bbj_pipeline.sources.markup import MarkupError, parse_fragment, to_blocks
from bbj_pipeline.sources.mdx import paths
from bbj_pipeline.sources.mdx.frontmatter import FrontMatter, FrontMatterError, document_metadata, split_front_matter
from bbj_pipeline.sources.mdx.render import Rendered, render

__all__ = ["MdxOptions", "MdxSource"]

_IMPORT = re.compile(r"""^import\s+([A-Z][\w$]*)\s+from\s+['"]([^'"\n]+\.mdx?)['"]""", re.MULTILINE)
_MAX_INCLUSIONS = 500
_MAX_INCLUSION_DEPTH = 8
_MEDIA_TYPE = "text/markdown"


class MdxOptions(SourceOptions):
    """Options of an ``mdx`` instance; ``{path}`` in ``public_url`` is the document's route, without prefixes and extension."""


class MdxSource(Source[MdxOptions]):
    """Folders of Docusaurus Markdown. Keys are paths relative to the folder."""

    kind = "mdx"
    title = "Docusaurus Markdown"
    parser_version = "1"
    default_doc_type = "concept"
    options_type = MdxOptions

    def export(self, options: MdxOptions) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield all Markdown files; those that start with ``_`` (or stand in such a folder) are resources.

        The section path, from ``_category_`` labels or folder names, is metadata: the file itself does not say it.
        """
        root = existing_folder(options.path, "mdx")
        found = list(read_folder(root, paths.is_markdown, media_type=_MEDIA_TYPE))
        contents = {item.key: item.content for item in found if isinstance(item, RawDocument)}
        labels: dict[str, str] = {}
        for folder in {"/".join(key.split("/")[:count]) for key in contents for count in range(1, key.count("/") + 1)}:
            label = paths.category_label(root / folder)
            if label:
                labels[folder] = label
        for item in found:
            yield _located(item, contents, labels) if isinstance(item, RawDocument) else item

    def parse(self, raw: RawDocument, options: MdxOptions, read: ReadResource) -> Iterator[Topic | Reject]:
        """Yield the topic of one file, or a ``Reject``: ``draft``, ``front-matter``, ``empty``, ``binary``, ``too-deep``, …"""
        text, encoding = _decode(raw.content)
        if raw.content.count(b"\0") * 10 > len(raw.content) and not encoding.startswith("utf-16"):
            yield Reject(raw.key, "binary", "the file is not text: export the Markdown sources")
            return
        try:
            front_matter = split_front_matter(text)
        except FrontMatterError as error:
            yield Reject(raw.key, "front-matter", str(error))
            return
        if front_matter.fields.get("draft") is True:
            yield Reject(raw.key, "draft", "front matter says draft: true; drafts are not published")
            return
        metadata = document_metadata(front_matter)
        if encoding != "utf-8":
            metadata["encoding"] = encoding
        try:
            blocks = _blocks(raw, front_matter, read, metadata)
        except RecursionError:
            yield Reject(raw.key, "too-deep", "quotes, lists or brackets nest too deeply to be documentation")
            return
        except MarkupError as error:
            yield Reject(raw.key, error.code, error.reason)
            return
        if not blocks:
            yield Reject(raw.key, "empty", "no text besides front matter, imports and components")
            return
        yield Topic(
            kind=self.kind,
            key=raw.key,
            title=_title(raw.key, front_matter, blocks),
            blocks=blocks,
            url=raw.url or public_url_of(options.public_url, paths.url_path(raw.key, front_matter.fields)),
            section_path=tuple(raw.metadata.get("section_path", paths.section_path(raw.key, {}))),
            metadata=metadata,
            raw_key=raw.key,
            raw_sha256=raw.sha256,
        )


def _located(raw: RawDocument, contents: Mapping[str, bytes], labels: Mapping[str, str]) -> RawDocument:
    if paths.is_resource(raw.key):
        return replace(raw, role="resource")
    return replace(
        raw,
        dependencies=tuple(sorted(_dependencies(raw.key, contents))),
        metadata={"section_path": list(paths.section_path(raw.key, labels))},
    )


def _dependencies(key: str, contents: Mapping[str, bytes]) -> set[str]:
    """Return the partials that a document imports, and those that these import."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        current = waiting.pop()
        for target in _imports(current, _decode(contents[current])[0], contents.__contains__).values():
            if target not in found and target != key:
                found.add(target)
                waiting.append(target)
    return found


def _imports(key: str, text: str, known: Callable[[str], bool]) -> dict[str, str]:
    """Return key by component name of the Markdown files that a text imports and that exist."""
    found = {}
    for name, target in _IMPORT.findall(text) if "import" in text else ():
        match = next((candidate for candidate in paths.resolve_import(key, target) if known(candidate)), None)
        if match:
            found[name] = match
    return found


def _blocks(raw: RawDocument, front_matter: FrontMatter, read: ReadResource, metadata: dict[str, Any]) -> tuple[Block, ...]:
    """Return the blocks of a document with its partials; partials that cannot be read are named in ``metadata``."""
    stack: list[tuple[str, dict[str, str]]] = [
        (raw.key, _imports(raw.key, front_matter.body, raw.dependencies.__contains__)),
    ]
    missing: list[str] = []
    included = 0

    def include(name: str, into: Rendered) -> str | None:
        nonlocal included
        key = stack[-1][1].get(name)
        if key is None:
            return None
        included += 1
        cyclic = any(key == ancestor for ancestor, _ in stack)
        if cyclic or len(stack) > _MAX_INCLUSION_DEPTH or included > _MAX_INCLUSIONS:
            return ""
        try:
            part = split_front_matter(_decode(read(key))[0])
        except (KeyError, FrontMatterError) as error:
            missing.append(f"{key}: {error if isinstance(error, FrontMatterError) else 'not in the export'}")
            return ""
        stack.append((key, _imports(key, part.body, raw.dependencies.__contains__)))
        html = render(part.body, into, mdx=key.lower().endswith(".mdx"))
        stack.pop()
        return html

    rendered = Rendered(front_matter.fields, include)
    html = render(front_matter.body, rendered, mdx=raw.key.lower().endswith(".mdx"))
    if missing:
        metadata["missing_partials"] = missing
    return to_blocks(parse_fragment(html), rendered.profile)


def _title(key: str, front_matter: FrontMatter, blocks: tuple[Block, ...]) -> str:
    first = next((block.text for block in blocks if block.type == "heading" and block.level == 1), "")
    return front_matter.text("title") or first or paths.readable_name(key)


def _decode(content: bytes) -> tuple[str, str]:
    """Return the text (``\\n`` line ends, no U+0000) and its encoding: by byte order mark, UTF-8, else windows-1252."""
    for mark, name in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(mark):
            text, encoding = content[len(mark) :].decode(name, "replace"), name
            break
    else:
        try:
            text, encoding = content.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:
            text, encoding = content.decode("cp1252", "replace"), "cp1252"
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"), encoding
