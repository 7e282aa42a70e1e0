"""Checks of finished chunks against their documents, made without the chunker's own parts: by regular expressions, Python's
parser, brackets and word counts."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from bbj_pipeline.records import Block, Chunk, Topic

__all__ = ["fences_are_balanced", "functions_of", "lost", "torn_functions"]

_FENCE = re.compile(r"^(?:[ \t]*(?:>[ \t]*)*)(`{3,}|~{3,})(.*)$")
_WORD = re.compile(r"\w+")
_BBJ_BEGIN = re.compile(r"[ \t]*(?:\d+[ \t]+)?(?:method[ \t]+(?:public|private|protected)\b|def[ \t]*fn[^=]*$)", re.IGNORECASE)
_BBJ_END = re.compile(r"[ \t]*(?:\d+[ \t]+)?(?:methodend|fnend)\b", re.IGNORECASE)
_BRACED = frozenset({"java", "javascript", "js", "jsx", "typescript", "ts", "tsx", "csharp", "c#", "cs", "cpp", "c", "css"})
_LITERAL = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL)
_FUNCTION_HEAD = re.compile(r"\)\s*(?:throws [\w., ]+|:\s*[\w<>\[\]|. ]+|=>|const)?\s*$")


def fences_are_balanced(content: str) -> bool:
    """Read fences as CommonMark does: a fence is closed by one of its kind that is at least as long and has no info string."""
    opened: str | None = None
    for line in content.split("\n"):
        found = _FENCE.match(line)
        if found is None:
            continue
        ticks, info = found.groups()
        if opened is None:
            opened = ticks
        elif ticks[0] == opened[0] and len(ticks) >= len(opened) and not info.strip():
            opened = None
    return opened is None


def lost(topic: Topic, chunks: Sequence[Chunk], *, once: bool) -> list[str]:
    """Return words and lines of code that the topic has and its chunks have not, or, unless ``once``, not as often.

    ``once`` is for references, in which overloads share a description.
    """
    held = Counter(word for item in chunks for text in (*item.heading_path, item.content) for word in _WORD.findall(text))
    needed: Counter[str] = Counter()
    for block in topic.blocks:
        needed.update(_WORD.findall(block.title or ""))
        if block.type != "heading":
            needed.update(_WORD.findall(block.text))
        else:
            needed.update(set(_WORD.findall(block.text)) - needed.keys())
    if once:
        needed = Counter(set(needed))
    lines = {line.strip() for item in chunks for line in item.content.split("\n")}
    whole = [line.strip() for block in topic.blocks if block.type == "code" for line in block.text.split("\n")]
    return [*(needed - held), *(line for line in whole if line not in lines and len(line) < 400)]


def torn_functions(topic: Topic, chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield the text of every function of the topic's code that stands whole in none of its chunks."""
    contents = [item.content for item in chunks]
    for block in topic.blocks:
        for text in functions_of(block) if block.type == "code" else ():
            if not any(text in content for content in contents):
                yield text


def functions_of(block: Block) -> list[str]:
    """Return the functions of a code block, outermost only; of code that its language's parser refuses, none."""
    language = (block.language or "").casefold()
    lines = block.text.split("\n")
    if language in ("python", "py"):
        ranges = list(_python(block.text))
    elif language in _BRACED or (not language and "{" in block.text and ";" in block.text):
        ranges = list(_braced(block.text))
    elif language in ("", "bbj"):
        ranges = list(_bbj(lines))
    else:
        ranges = []
    return ["\n".join(lines[start:end]) for start, end in ranges]


def _python(text: str) -> Iterator[tuple[int, int]]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield first - 1, node.end_lineno or node.lineno
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _bbj(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for number, line in enumerate(lines):
        if _BBJ_BEGIN.match(line):
            start = number
        elif start is not None and _BBJ_END.match(line):
            yield start, number + 1
            start = None


def _braced(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines of the outermost pairs of braces that follow a parenthesis, strings and comments left out."""
    masked = _LITERAL.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    opened: list[tuple[int, bool]] = []
    for at, sign in enumerate(masked):
        if sign == "{":
            head = bool(_FUNCTION_HEAD.search(masked[max(0, at - 200) : at]))
            opened.append((at, head and not any(function for _, function in opened)))
        elif sign == "}" and opened:
            start, function = opened.pop()
            if function:
                yield masked.count("\n", 0, start), masked.count("\n", 0, at) + 1
