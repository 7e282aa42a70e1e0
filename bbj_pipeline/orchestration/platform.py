"""The one resource of all assets: settings, stage store, database, tokenizer and embedder, each opened when first used.

Opened things are kept for the life of the process, so that the model and the server start once for many runs.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from typing import Self

from bbj_pipeline.models import load_embedder, load_tokenizer
from bbj_pipeline.orchestration.steps.embed import ProgressListener
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Embedder, Tokenizer
from bbj_pipeline.storage.database import Database, open_database
from bbj_pipeline.storage.migrations import migrate
from bbj_pipeline.storage.stage_files import StageStore

__all__ = ["Platform"]


class Platform:
    """What the steps need from outside; a context manager that closes what was opened."""

    def __init__(
        self, settings: Settings, *, listener: ProgressListener | None = None, embedder: Embedder | None = None
    ) -> None:
        self.settings = settings
        self._embedder = embedder
        self.listener = listener
        """Who hears of the progress of embedding, besides the log."""
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database pool; the embedded server stops with the last process that uses it."""
        self._opened.close()
        self.__dict__.pop("database", None)

    @cached_property
    def store(self) -> StageStore:
        """Stage files and raw blobs."""
        return StageStore(self.settings.store)

    @cached_property
    def database(self) -> Database:
        """The database at the current schema."""
        database = self._opened.enter_context(open_database(self.settings))
        migrate(database)
        return database

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The embedding model's tokenizer, without the model."""
        return load_tokenizer(self.settings)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model: the given one, or the settings'."""
        return self._embedder or load_embedder(self.settings)
