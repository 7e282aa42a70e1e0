"""The faces of a search for programs. Runs without Dagster installed or imported."""
