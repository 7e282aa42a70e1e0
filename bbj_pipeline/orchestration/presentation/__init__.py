"""What a data engineer sees of the platform in the Dagster UI: of a definition before it ran, and of a materialisation after.

Only shows: nothing here decides, writes a stage file or changes a row. Everything is bounded in size, and no credential passes.
"""

from bbj_pipeline.orchestration.presentation.definitions import presented
from bbj_pipeline.orchestration.presentation.materialisations import file_metadata, numbers, served_metadata

__all__ = ["file_metadata", "numbers", "presented", "served_metadata"]
