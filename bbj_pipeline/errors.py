"""The exception tree: every failure a user can meet, classified by what may be done about it.

Standard library only, imported by every layer. No logging and no retry policy live here.

    PipelineError                 base; its text says what, where and the remedy
    ├── ConfigurationError        settings or sources.yaml are wrong        never retried
    ├── Unavailable               something outside did not answer           retried with backoff
    │   ├── SourceUnavailable     a site, export folder or store
    │   ├── DatabaseUnavailable   PostgreSQL
    │   │   └── ConnectionLost    the connection broke or was not made; what may be repeated is
    │   ├── ModelUnavailable      an embedding server
    │   └── Overloaded            this service has as many requests as it can take
    ├── RejectedInput             the input itself is unusable               never retried
    │   └── NotFound              what is asked for by its id is not there
    ├── ModelError                an embedding model is missing or misbehaves never retried
    └── SchemaError               the database is not at the schema this code needs never retried
"""

from __future__ import annotations

__all__ = [
    "ConfigurationError",
    "ConnectionLost",
    "DatabaseUnavailable",
    "ModelError",
    "ModelUnavailable",
    "NotFound",
    "Overloaded",
    "PipelineError",
    "RejectedInput",
    "SchemaError",
    "SourceUnavailable",
    "Unavailable",
]


class PipelineError(Exception):
    """Base of all errors this project raises on purpose.

    ``what`` names the thing and what was found there, ``remedy`` says what to do; together they are one line.
    """

    def __init__(self, what: str, *, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what}: {self.remedy}"


class ConfigurationError(PipelineError):
    """Settings or ``sources.yaml`` are wrong; the remedy names the file and the key."""


class Unavailable(PipelineError):
    """Something outside did not answer; the same call may succeed later.

    ``retry_after`` is the number of seconds the other side asked for, if it did.
    """

    def __init__(self, what: str, *, remedy: str, retry_after: float | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.retry_after = retry_after


class SourceUnavailable(Unavailable):
    """A site, an export folder or an archive could not be read."""


class DatabaseUnavailable(Unavailable):
    """PostgreSQL could not be reached, or the connection was lost."""


class ConnectionLost(DatabaseUnavailable):
    """The connection broke, or none could be made: the same work may succeed on a new one."""


class ModelUnavailable(Unavailable):
    """A server that runs a model did not answer."""


class Overloaded(Unavailable):
    """This service has as many requests as it can take; ``retry_after`` says when to come again."""


class RejectedInput(PipelineError):
    """The input itself is unusable and will be so tomorrow."""


class NotFound(RejectedInput):
    """What is asked for by its id is not there (any more)."""


class ModelError(PipelineError):
    """An embedding model is not installed, or returned vectors that cannot be used."""


class SchemaError(PipelineError):
    """The database's schema or extensions are not what this code needs."""
