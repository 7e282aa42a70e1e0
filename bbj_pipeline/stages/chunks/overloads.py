"""Joins the overloads of a method, which a class reference lists one by one, into the one section that they are.

Sixty sections that differ only by parameter types would be sixty nearly equal chunks, and fill every result list. Signatures
go into one code block; a description that several overloads share stands there once. No text is lost, only repetition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bbj_pipeline.records import Block

__all__ = ["join_overloads"]

_MEMBER_LEVEL = 3


def join_overloads(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the blocks with the overloads of a method as one section, where the first of them stands.

    Sections of one heading are overloads when they follow one another, or when each has a signature: a class lists its
    methods by visibility or parameters, too. Those under another heading, a constructor and a field, stay apart.
    """
    joined: list[list[list[Block]]] = []
    members: dict[str, list[list[Block]]] = {}
    for section in _sections(blocks):
        first = section[0]
        if first.type != "heading" or first.level != _MEMBER_LEVEL:
            members.clear()
            joined.append([section])
            continue
        known = members.get(first.text)
        if known is not None and (known is joined[-1] or all(any(map(_is_signature, each)) for each in (known[0], section))):
            known.append(section)
        else:
            members[first.text] = [section]
            joined.append(members[first.text])
    made = [block for run in joined for block in (run[0] if len(run) == 1 else _join(run))]
    return tuple(made) if len(made) < len(blocks) else blocks


def _sections(blocks: tuple[Block, ...]) -> Iterator[list[Block]]:
    """Cut the blocks before every heading down to the member level; deeper headings stay inside."""
    current: list[Block] = []
    for block in blocks:
        if block.type == "heading" and (block.level or 1) <= _MEMBER_LEVEL and current:
            yield current
            current = []
        current.append(block)
    if current:
        yield current


def _join(sections: list[list[Block]]) -> list[Block]:
    """Return one section: for each description the code of the overloads that share it."""
    groups: dict[tuple[Block, ...], list[Block]] = {}
    for section in sections:
        description = tuple(block for block in section[1:] if not _is_signature(block))
        groups.setdefault(description, []).extend(block for block in section[1:] if _is_signature(block))
    joined = [sections[0][0]]
    for description, signatures in groups.items():
        code = _one_block(signatures)
        # many signatures may need several chunks: the description then leads them instead of trailing behind
        joined.extend((*code, *description) if len(signatures) <= 1 else (*description, *code))
    return joined


def _is_signature(block: Block) -> bool:
    return block.type == "code" and not block.title and "\n" not in block.text.strip()


def _one_block(signatures: list[Block]) -> list[Block]:
    if not signatures:
        return []
    lines = dict.fromkeys(block.text.strip() for block in signatures)
    return [replace(signatures[0], text="\n".join(lines))]
