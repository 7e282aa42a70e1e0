"""Makes corpora of any size from our own words, in the formats of the sources: input for measuring memory and scale.

The same number gives the same files. Documents have the real ones' proportions and shapes: headings, prose, lists, tables of
methods, code, snippets, variables, a table of contents.
"""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["GENERATORS", "generate"]

_NOUNS = ("window", "button", "grid", "menu", "channel", "record", "file", "field", "string", "mask", "printer", "event")
_VERBS = ("opens", "closes", "adds", "removes", "reads", "writes", "sorts", "shows", "moves", "sends", "draws", "locks")
_TOPICS_A_FOLDER = 50
_CLASSES_A_PACKAGE = 20
_SNIPPETS = 40
_NAMESPACE = "http://www.madcapsoftware.com/Schemas/MadCap.xsd"


def generate(kind: str, root: Path, documents: int) -> Path:
    """Write ``documents`` documents of a kind (a name of ``GENERATORS``) below ``root``; returns what an instance's path is."""
    root.mkdir(parents=True, exist_ok=True)
    return GENERATORS[kind](root, documents)


def _sentence(random_: random.Random) -> str:
    words = (f"{random_.choice(_VERBS)} the {random_.choice(_NOUNS)}" for _ in range(random_.randint(2, 5)))
    return f"The {random_.choice(_NOUNS)} {', '.join(words)}."


def _paragraph(random_: random.Random) -> str:
    return " ".join(_sentence(random_) for _ in range(random_.randint(2, 6)))


def _method(random_: random.Random) -> str:
    return f"{random_.choice(_VERBS)[:-1]}{random_.choice(_NOUNS).title()}"


def _program(random_: random.Random, lines: int = 6) -> str:
    body = "\n".join(
        f'    {random_.choice(_NOUNS)}! = api!.{_method(random_)}("{random_.choice(_NOUNS)}")' for _ in range(lines)
    )
    name = random_.choice(_NOUNS).title()
    opening = f"rem {_sentence(random_)}\nclass public {name}\n  method public void run()"
    return f"{opening}\n{body}\n  methodend\nclassend"


def _page(random_: random.Random, title: str) -> str:
    """The body of a page of HTML: three sections."""
    sections = []
    for number in range(3):
        rows = "".join(f"<tr><td><p>{_method(random_)}</p></td><td><p>{_sentence(random_)}</p></td></tr>\n" for _ in range(5))
        sections.append(
            f"<h2>{title}, part {number}</h2>\n<p>{_paragraph(random_)}</p>\n<ul><li>{_sentence(random_)}</li></ul>\n"
            f'<table class="Methods_Table"><tr><th>Method</th><th>Description</th></tr>\n{rows}</table>\n'
            f"<pre>{_program(random_)}</pre>\n"
        )
    return f"<h1>{title}</h1>\n{''.join(sections)}"


def _topics(documents: int) -> Iterator[tuple[int, str, random.Random]]:
    for number in range(documents):
        yield number, f"{number // _TOPICS_A_FOLDER:04}/topic_{number:05}", random.Random(number)


def _flare_files(documents: int) -> Iterator[tuple[str, str]]:
    yield "Manual.flprj", "<CatapultProject/>"
    names = "".join(f'<Variable Name="V{number}">value {number}</Variable>' for number in range(20))
    yield "Project/VariableSets/Names.flvar", f"<CatapultVariableSet>{names}</CatapultVariableSet>"
    entries = "".join(
        f'<TocEntry Title="[%=System.LinkedTitle%]" Link="/Content/{name}.htm"/>' for _, name, _ in _topics(documents)
    )
    yield "Project/TOCs/Manual.fltoc", f'<CatapultToc><TocEntry Title="Manual">{entries}</TocEntry></CatapultToc>'
    for number in range(_SNIPPETS):
        yield (
            f"Content/Resources/Snippets/S{number}.flsnp",
            f'<html xmlns:MadCap="{_NAMESPACE}"><body><p>{_paragraph(random.Random(number))}</p></body></html>',
        )
    for number, name, random_ in _topics(documents):
        snippet = f'<MadCap:snippetBlock src="/Content/Resources/Snippets/S{number % _SNIPPETS}.flsnp"/>'
        linked = f'<p>See <MadCap:xref href="/Content/{(number * 7) % documents // _TOPICS_A_FOLDER:04}/topic_'
        linked += f'{(number * 7) % documents:05}.htm"/> in <MadCap:variable name="Names.V{number % 20}"/>.</p>'
        yield (
            f"Content/{name}.htm",
            f'<html xmlns:MadCap="{_NAMESPACE}"><head><title>Topic {number}</title></head>'
            f"<body>{_page(random_, f'Topic {number}')}{snippet}{linked}</body></html>",
        )


def _flare(root: Path, documents: int) -> Path:
    return _written(root, _flare_files(documents))


def _flare_zip(root: Path, documents: int) -> Path:
    path = root / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in _flare_files(documents):
            out.writestr(name, content)
    return path


def _mdx(root: Path, documents: int) -> Path:
    def files() -> Iterator[tuple[str, str]]:
        yield "docs/_shared.md", "A partial that every page shows."
        for number, name, random_ in _topics(documents):
            rows = "".join(f"| {_method(random_)} | {_sentence(random_)} |\n" for _ in range(8))
            yield (
                f"docs/{name}.mdx",
                f"---\ntitle: Page {number}\n---\nimport Shared from '../_shared.md'\n\n# Page {number}\n\n"
                f"{_paragraph(random_)}\n\n"
                f"<Shared />\n\n| Method | Description |\n|---|---|\n{rows}\n```bbj\n{_program(random_)}\n```\n",
            )

    return _written(root, files())


def _web(root: Path, documents: int) -> Path:
    def files() -> Iterator[tuple[str, str]]:
        for number, name, random_ in _topics(documents):
            page = _page(random_, f"Page {number}")
            yield (
                f"{name}.html",
                f"<!DOCTYPE html><html><head><title>Page {number}</title></head><body><main>{page}</main></body></html>",
            )

    return _written(root, files())


def _wordpress(root: Path, documents: int) -> Path:
    def files() -> Iterator[tuple[str, str]]:
        for number, _, random_ in _topics(documents):
            post = {
                "id": number + 1,
                "type": "post",
                "status": "publish",
                "slug": f"post-{number}",
                "link": f"https://example.org/post-{number}/",
                "modified_gmt": "2026-01-01T00:00:00",
                "title": {"rendered": f"Post {number}"},
                "content": {"rendered": _page(random_, f"Post {number}"), "protected": False},
            }
            yield f"post_{number}.json", json.dumps(post)

    return _written(root, files())


def _programs(root: Path, documents: int) -> Path:
    return _written(root, ((f"{name}.bbj", _program(random_, 60)) for _, name, random_ in _topics(documents)))


def _javadoc(root: Path, documents: int) -> Path:
    def member(random_: random.Random) -> dict[str, object]:
        params = [{"name": f"{random_.choice(_NOUNS)}!", "type": "BBjString"} for _ in range(random_.randint(0, 3))]
        docu = f"In BBj 12.00 and higher, {_paragraph(random_)}\r\r[Docs](https://example.org/{_method(random_)}.htm)"
        return {"name": _method(random_), "params": params, "docu": docu}

    def files() -> Iterator[tuple[str, str]]:
        for start in range(0, documents, _CLASSES_A_PACKAGE):
            numbers = range(start, min(documents, start + _CLASSES_A_PACKAGE))
            makers = {number: random.Random(number) for number in numbers}
            classes = [
                {
                    "name": f"Class{number}",
                    "docu": f"<p>{_paragraph(random_)}</p>",
                    "methods": [member(random_) for _ in range(12)],
                }
                for number, random_ in makers.items()
            ]
            package = {"name": f"com.example.p{start}", "version": "1", "classes": classes}
            yield f"com.example.p{start}.json", json.dumps(package)

    return _written(root, files())


def _pdf(root: Path, documents: int) -> Path:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    style = getSampleStyleSheet()
    for number in range(documents):
        random_ = random.Random(number)
        story = [Paragraph(f"Manual {number}", style["Title"])]
        for part in range(6):
            story.append(Paragraph(f"Part {part}", style["Heading1"]))
            story.extend(Paragraph(_paragraph(random_), style["BodyText"]) for _ in range(4))
        SimpleDocTemplate(str(root / f"manual_{number:05}.pdf")).build(story)
    return root


def _written(root: Path, files: Iterator[tuple[str, str]]) -> Path:
    for name, content in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return root


GENERATORS: dict[str, Callable[[Path, int], Path]] = {
    "flare": _flare,
    "flare.zip": _flare_zip,
    "web_crawl": _web,
    "wordpress": _wordpress,
    "mdx": _mdx,
    "javadoc": _javadoc,
    "bbj_source": _programs,
    "pdf": _pdf,
}
