"""What the UI shows of an asset before it has run: owners, what happens in it, its columns, and where its code stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from bbj_pipeline.orchestration.presentation.columns import column_schema
from bbj_pipeline.orchestration.stage_names import CHUNKS, EMBEDDINGS, PARSED_TOPICS, PGVECTOR_TABLE, RAW_EXPORT, TAGGED_DOCS
from bbj_pipeline.settings import Settings
from bbj_pipeline.sources.registry import source_kinds
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline.stages.embedding import embed
from bbj_pipeline.stages.tagging import tag
from bbj_pipeline.storage.publishing import publish

__all__ = ["presented"]

_PROJECT = Path(__file__).resolve().parents[3]

_SHARED_CODE: dict[str, Callable[..., Any]] = {TAGGED_DOCS: tag, CHUNKS: chunk, EMBEDDINGS: embed, PGVECTOR_TABLE: publish}


def presented(assets: Sequence[dg.AssetsDefinition], settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the stages of all kinds, keyed ``[kind, stage]``, with what the UI shows of them; other assets as they are."""

    def shown(spec: dg.AssetSpec) -> dg.AssetSpec:
        code = _code(spec.key)
        if code is None:
            return spec
        file = Path(code.__code__.co_filename)
        name, line = file.relative_to(_PROJECT).as_posix(), code.__code__.co_firstlineno
        base = settings.source_code_url
        reference: dg.LocalFileCodeReference | dg.UrlCodeReference
        if base is None:
            described = f"`{name}`, line {line}"
            reference = dg.LocalFileCodeReference(file_path=str(file), line_number=line, label=name)
        else:
            address = f"{base.rstrip('/')}/{name}#L{line}"
            described = f"[`{name}`]({address})"
            reference = dg.UrlCodeReference(url=address, label=name)
        return spec.replace_attributes(
            owners=[*spec.owners, *settings.owners],
            description=f"{spec.description}\n\nCode: {described}",
            metadata={
                **spec.metadata,
                "dagster/column_schema": column_schema(spec.key.path[-1]),
                "dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[reference]),
            },
        )

    return [asset.map_asset_specs(shown) for asset in assets]


def _code(key: dg.AssetKey) -> Any:
    """Return the function a stage is made of: what a reader of the graph wants to open."""
    kind, stage = key.path[0], key.path[-1]
    source = source_kinds().get(kind)
    if source is None:
        return None
    own = {RAW_EXPORT: type(source).export, PARSED_TOPICS: type(source).parse}
    return own.get(stage) or _SHARED_CODE.get(stage)
