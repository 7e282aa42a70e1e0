"""Serves recorded dumps on loopback with the protocol of the original: a static site, or a WordPress REST API.

For the option ``replay`` and for tests. No crawling and no parsing; the servers bind to 127.0.0.1 only, to a port that the
system chooses, and never read outside the folder they were given.
"""

from bbj_pipeline.sources.replay.server import Answer, Handler, serve
from bbj_pipeline.sources.replay.site import serve_site
from bbj_pipeline.sources.replay.wordpress import serve_wordpress

__all__ = ["Answer", "Handler", "serve", "serve_site", "serve_wordpress"]
