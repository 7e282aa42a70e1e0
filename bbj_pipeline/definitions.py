"""What Dagster loads: the definitions of all instances that ``sources.yaml`` configures."""

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.settings import load_settings

defs = build_definitions(load_settings())
