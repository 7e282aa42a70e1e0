"""A small, polite HTTP client over ``requests``, and the options every source read over the network shares.

Nothing here knows a format. Requests and replies of one site go through ``HttpClient``; everything that decides whether a
request may be made (hosts, addresses, sizes, times) is decided here once.
"""

from bbj_pipeline.sources.http.client import Gone, HttpClient, Refused, Reply, SiteFault
from bbj_pipeline.sources.http.options import NetworkOptions, recorded_folder
from bbj_pipeline.sources.http.policy import USER_AGENT, Limits
from bbj_pipeline.sources.http.urls import origin_of, public_address

__all__ = [
    "USER_AGENT",
    "Gone",
    "HttpClient",
    "Limits",
    "NetworkOptions",
    "Refused",
    "Reply",
    "SiteFault",
    "origin_of",
    "public_address",
    "recorded_folder",
]
