"""Keeps the console to what the command says: preview warnings and progress bars of libraries stay off it."""

from __future__ import annotations

import logging
import warnings

__all__ = ["quiet_libraries"]


def quiet_libraries() -> None:
    """Silence notices that are for developers of this project, not for its users."""
    from dagster import BetaWarning, PreviewWarning

    warnings.filterwarnings("ignore", category=BetaWarning)
    warnings.filterwarnings("ignore", category=PreviewWarning)
    for name in ("great_expectations", "sentence_transformers", "transformers", "alembic", "pypdf"):
        logging.getLogger(name).setLevel(logging.ERROR)
