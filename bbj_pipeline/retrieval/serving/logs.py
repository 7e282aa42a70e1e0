"""The service's log: one JSON object a line on standard error. What is logged is decided where it happens."""

from __future__ import annotations

import datetime
import json
import logging
import sys

__all__ = ["JsonLines", "log_to_stderr"]


class JsonLines(logging.Formatter):
    """A record as one line of JSON; ``extra={"fields": {…}}`` adds to it. An exception becomes one field, not many lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


def log_to_stderr() -> None:
    """Send everything from level info (libraries: warning) to standard error; standard output stays free for a protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("bbj_pipeline").setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.INFO)
