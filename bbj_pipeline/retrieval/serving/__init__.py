"""The faces of a search: REST and MCP over one ``Service``. Runs without Dagster installed or imported.

How a search computes belongs to the package above; here a request is bounded, checked, answered, counted and logged.
"""

from bbj_pipeline.retrieval.serving.app import create_app
from bbj_pipeline.retrieval.serving.mcp_face import create_mcp_server, serve_stdio
from bbj_pipeline.retrieval.serving.service import Service

__all__ = ["Service", "create_app", "create_mcp_server", "serve_stdio"]
