"""The exporter and the parser of the ``mdx`` kind: a folder of Markdown in, topics of typed blocks out.

How Markdown becomes HTML is in ``render``, what paths and front matter mean in ``paths`` and ``frontmatter``.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from bbj_pipeline.records import Block, RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.sources.contract import (
    NOTHING_EARLIER,
    EarlierExport,
    InputFiles,
    ReadResource,
    Source,
    SourceOptions,
    existing_folder,
)
from bbj_pipeline.sources.folder import FolderFiles, public_url_of, raw_document
from bbj_pipeline.sources.markup import MarkupError, links_of, parse_fragment, to_blocks
from bbj_pipeline.sources.mdx import paths
from bbj_pipeline.sources.mdx.frontmatter import FrontMatter, FrontMatterError, document_metadata, split_front_matter
from bbj_pipeline.sources.mdx.render import Rendered, render
from bbj_pipeline.sources.mdx.site import Site, read_site

__all__ = ["MdxOptions", "MdxSource"]

_IMPORT = re.compile(r"""^import\s+([A-Z][\w$]*)\s+from\s+['"]([^'"\n]+\.mdx?)['"]""", re.MULTILINE)
_MAX_INCLUSIONS = 500
_MAX_INCLUSION_DEPTH = 8
_MEDIA_TYPE = "text/markdown"

Imports = tuple[tuple[str, str], ...]
"""Component name and path of each import, as they are written."""


class MdxOptions(SourceOptions):
    """Options of an ``mdx`` instance; ``{path}`` in ``public_url`` is the document's route, without prefixes and extension."""


class MdxSource(Source[MdxOptions]):
    """Folders of Docusaurus Markdown. Keys are paths relative to the folder."""

    kind = "mdx"
    title = "Docusaurus Markdown"
    parser_version = "3"
    default_doc_type = "concept"
    options_type = MdxOptions

    def files(self, options: MdxOptions) -> AbstractContextManager[InputFiles]:
        """List the Markdown files, and what stands beside them that says where they belong."""
        root = existing_folder(options.path, "mdx")
        return nullcontext(FolderFiles(root, lambda key: paths.is_markdown(key) or paths.is_beside(key)))

    def export(
        self, options: MdxOptions, earlier: EarlierExport = NOTHING_EARLIER
    ) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield all Markdown files; those that start with ``_`` (or stand in such a folder) are resources.

        The section path, from sidebars, ``_category_`` labels or folder names, is metadata: the file itself does not say it.
        """
        with self.files(options) as files:
            # Read twice: what a document depends on is known when all are, and to keep all of them would take memory.
            keys = [key for key in files.all_keys() if not paths.is_beside(key)]
            contents = ((key, files.read(key)) for key in keys)
            imports = {key: _imports(_decode(content)[0]) for key, content in contents if isinstance(content, bytes)}
            site = read_site(files, imports)
            for key in keys:
                item = raw_document(key, files.read(key), _MEDIA_TYPE)
                yield _located(item, imports, site) if isinstance(item, RawDocument) else item

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
        if "in_toc" in raw.metadata:
            metadata["in_toc"] = raw.metadata["in_toc"]
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
            url=raw.url
            or public_url_of(options.public_url, paths.url_path(raw.key, front_matter.fields, raw.metadata.get("route"))),
            section_path=tuple(raw.metadata.get("section_path", paths.section_path(raw.key, {}))),
            metadata=metadata,
            raw_key=raw.key,
            raw_sha256=raw.sha256,
        )


def _located(raw: RawDocument, imports: Mapping[str, Imports], site: Site) -> RawDocument:
    if paths.is_resource(raw.key):
        return replace(raw, role="resource")
    fields: Mapping[str, Any] = {}
    if site.ordered(raw.key):
        try:
            fields = split_front_matter(_decode(raw.content)[0]).fields
        except FrontMatterError:  # said when it is parsed
            fields = {}
    return replace(raw, dependencies=tuple(sorted(_dependencies(raw.key, imports))), metadata=site.place(raw.key, fields))


def _dependencies(key: str, imports: Mapping[str, Imports]) -> set[str]:
    """Return the partials that a document imports, and those that these import."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        current = waiting.pop()
        for target in _imported(current, imports.get(current, ()), imports.__contains__).values():
            if target not in found and target != key:
                found.add(target)
                waiting.append(target)
    return found


def _imports(text: str) -> Imports:
    """Return the names and paths of the Markdown files that a text imports as components."""
    return tuple(_IMPORT.findall(text)) if "import" in text else ()


def _imported(key: str, imports: Imports, known: Callable[[str], bool]) -> dict[str, str]:
    """Return key by component name of the files that the document ``key`` imports and that are ``known``."""
    found = {}
    for name, target in imports:
        match = next((candidate for candidate in paths.resolve_import(key, target) if known(candidate)), None)
        if match:
            found[name] = match
    return found


def _blocks(raw: RawDocument, front_matter: FrontMatter, read: ReadResource, metadata: dict[str, Any]) -> tuple[Block, ...]:
    """Return the blocks of a document with its partials; partials that cannot be read are named in ``metadata``."""
    stack: list[tuple[str, dict[str, str]]] = [
        (raw.key, _imported(raw.key, _imports(front_matter.body), raw.dependencies.__contains__)),
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
        stack.append((key, _imported(key, _imports(part.body), raw.dependencies.__contains__)))
        html = render(part.body, into, mdx=key.lower().endswith(".mdx"))
        stack.pop()
        return html

    rendered = Rendered(front_matter.fields, include)
    html = render(front_matter.body, rendered, mdx=raw.key.lower().endswith(".mdx"))
    if missing:
        metadata["missing_partials"] = missing
    root = parse_fragment(html)
    if links := links_of(root):
        metadata["links"] = links
    return to_blocks(root, rendered.profile)


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
    return text.replace("\0", " ").replace("\r\n", "\n").replace("\r", "\n"), encoding
