"""The options of a source that is read over the network: live, from a recorded dump, or from a dump replayed on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.sources.contract import SourceOptions
from bbj_pipeline.sources.http.policy import Limits
from bbj_pipeline.sources.http.urls import origin_of

__all__ = ["NetworkOptions", "recorded_folder"]


class NetworkOptions(SourceOptions):
    """Options of ``wordpress`` and ``web_crawl``: exactly one of ``path``, ``url`` and ``replay``."""

    url: str | None = Field(default=None, description="Address of the live site.")
    replay: Path | None = Field(
        default=None, description="A recorded dump that is served on loopback during the export and read like a live site."
    )
    delay: float | None = Field(
        default=None, ge=0, le=60, description="Seconds between two requests; by default 0.25, and 0 for a replay."
    )
    timeout: float = Field(default=30.0, gt=0, le=600, description="Seconds a server may be silent.")
    attempts: int = Field(default=4, ge=1, le=10, description="How often a request is tried before the site is unavailable.")

    @field_validator("url")
    @classmethod
    def _http_url(cls, value: str | None) -> str | None:
        if value is not None:
            origin_of(value)  # raises ValueError, which pydantic reports with the option's name
        return value

    @field_validator("public_url")
    @classmethod
    def _public_http_url(cls, value: str | None) -> str | None:
        if value is not None:
            origin_of(value)
        return value

    @model_validator(mode="after")
    def _one_input(self) -> Self:
        given = [name for name in ("path", "url", "replay") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(f"set exactly one of path, url and replay (found {found})")
        return self

    @property
    def pause(self) -> float:
        """Seconds between two requests."""
        if self.delay is not None:
            return self.delay
        return 0.0 if self.url is None else 0.25

    @property
    def limits(self) -> Limits:
        """Bounds of one request."""
        return Limits(read=self.timeout, deadline=4 * self.timeout, attempts=self.attempts)


def recorded_folder(options: NetworkOptions, kind: str) -> Path:
    """Return the folder of ``path`` or ``replay``; raise ``SourceUnavailable`` naming the option when there is none."""
    option, folder = ("path", options.path) if options.path is not None else ("replay", options.replay)
    if folder is None or not folder.is_dir():
        raise SourceUnavailable(
            f"no dump at {folder}", remedy=f'set "{option}" of {kind} in sources.yaml to an existing folder'
        )
    return folder
