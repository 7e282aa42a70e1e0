"""The stages between a parsed topic and an embedding: pure functions over records. No Dagster, no SQL, no model loading."""
