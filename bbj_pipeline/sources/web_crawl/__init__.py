"""The ``web_crawl`` source kind: an HTML site from a folder, live by sitemap and links, or from a replayed folder."""

from bbj_pipeline.sources.web_crawl.source import WebCrawlOptions, WebCrawlSource

__all__ = ["SOURCE", "WebCrawlOptions", "WebCrawlSource"]

SOURCE = WebCrawlSource()
