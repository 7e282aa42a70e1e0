"""The ``wordpress`` source kind: posts, pages and custom types by the REST API, live, from a dump, or from a replayed dump."""

from bbj_pipeline.sources.wordpress.source import WordPressOptions, WordPressSource

__all__ = ["SOURCE", "WordPressOptions", "WordPressSource"]

SOURCE = WordPressSource()
