"""Everything that outlives a run: raw blobs and stage files on a file store, tables and caches in PostgreSQL.

The only layer that opens a database connection. No parsing, no model loading, no Dagster.
"""
