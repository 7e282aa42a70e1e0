"""bbj_pipeline: seven documentation sources, one searchable and generation-aware corpus in PostgreSQL + pgvector."""

__version__ = "0.1.0"
