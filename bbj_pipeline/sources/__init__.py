"""The source kinds: one module a format, each lists raw documents and parses them. No Dagster, no SQL, no environment."""
