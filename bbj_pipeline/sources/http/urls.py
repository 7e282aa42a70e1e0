"""Pure functions on URLs: origins, and the public address of a document. No request is made here."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from bbj_pipeline.records import clean_text

__all__ = ["origin_of", "public_address", "url_path"]

_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Return scheme, host and port of ``url`` in lower case, the default port left out.

    Raises ``ValueError`` when it is not an http(s) URL with a host, or when it carries a user name or password.
    """
    parts = urlsplit(url)
    if "@" in parts.netloc:  # first: no other message may quote them
        raise ValueError("credentials in a URL are not sent")
    if parts.scheme.lower() not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError(f"not an http(s) URL: {url}")
    scheme = parts.scheme.lower()
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port
    return f"{scheme}://{host}" if port in (None, _DEFAULT_PORTS[scheme]) else f"{scheme}://{host}:{port}"


def url_path(url: str) -> str:
    """Return the decoded path of ``url``, beginning with ``/``."""
    return unquote(urlsplit(url).path) or "/"


def public_address(template: str, path: str) -> str:
    """Return the public URL of a document: ``{path}`` of ``template`` replaced by ``path``, URL-quoted, no leading ``/``."""
    return template.replace("{path}", quote(clean_text(path.lstrip("/"))))
