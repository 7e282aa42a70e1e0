"""The HTTP client against servers that misbehave: real sockets on loopback, time and chance passed in as values."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from pydantic import ValidationError

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.sources.http import USER_AGENT, Gone, HttpClient, Limits, NetworkOptions, Refused, public_address
from bbj_pipeline.sources.http.client import Clock
from bbj_pipeline.sources.http.policy import backoff_seconds, is_public_address, retry_after_seconds
from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.http.urls import origin_of
from bbj_pipeline.sources.replay import Answer, serve


@dataclass
class FakeTime:
    """A clock that only moves when somebody sleeps."""

    time: float = 1_000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def clock(self, draw: float = 0.0) -> Clock:
        return Clock(monotonic=lambda: self.time, now=lambda: self.time, sleep=self.sleep, draw=lambda: draw)


def client_for(origin: str, fake: FakeTime, **limits: float) -> HttpClient:
    known = frozenset({origin})
    return HttpClient(known, trusted=known, limits=Limits(**limits), clock=fake.clock())


@contextmanager
def raw_server(first: bytes, then: bytes, pause: float, received: list[bytes] | None = None) -> Iterator[str]:
    """Send ``first``, then ``then`` again and again with ``pause`` seconds between, until the other side goes away."""
    requests = [] if received is None else received
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def run() -> None:
        listener.settimeout(0.1)
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                try:
                    requests.append(connection.recv(65536))
                    connection.sendall(first)
                    while then and not stop.is_set():
                        connection.sendall(then)
                        stop.wait(pause)
                except OSError:
                    continue

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        thread.join()
        listener.close()


def test_a_good_answer_comes_with_its_headers_and_our_name() -> None:
    """A request says who asks, and the reply has body, media type and lower-case headers."""
    received: list[bytes] = []
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=x\r\nContent-Length: 2\r\n\r\nok"
    with raw_server(answer, b"", 0, received) as origin, client_for(origin, FakeTime()) as client:
        reply = client.get(f"{origin}/a")
    assert f"User-Agent: {USER_AGENT}\r\n".encode() in received[0]
    assert (reply.content, reply.media_type, reply.headers["content-length"]) == (b"ok", "text/html", "2")
    assert USER_AGENT.startswith("bbj-pipeline/")


def test_429_waits_as_long_as_the_server_asks() -> None:
    """Retry-After is honoured, and the answer after it is the answer."""
    answers = iter([Answer(429, headers={"Retry-After": "7"}), Answer(200, b"now")])
    fake = FakeTime()
    with serve(lambda _: next(answers)) as origin, client_for(origin, fake) as client:
        assert client.get(f"{origin}/").content == b"now"
    assert fake.slept == [7.0]


def test_a_server_that_asks_for_too_much_patience_is_unavailable_now() -> None:
    """A Retry-After beyond the bound ends the request at once and is handed on to the caller."""
    fake = FakeTime()
    with (
        serve(lambda _: Answer(503, headers={"Retry-After": "86400"})) as origin,
        client_for(origin, fake) as client,
        pytest.raises(SourceUnavailable) as caught,
    ):
        client.get(f"{origin}/")
    assert (caught.value.retry_after, fake.slept) == (86400.0, [])


def test_server_errors_are_retried_with_growing_pauses_and_then_unavailable() -> None:
    """A 500 is tried as often as the limits say; pauses double; the error names URL, status and number of attempts."""
    asked: list[str] = []
    fake = FakeTime()

    def handler(target: str) -> Answer:
        asked.append(target)
        return Answer(500)

    with (
        serve(handler) as origin,
        client_for(origin, fake, attempts=4) as client,
        pytest.raises(SourceUnavailable, match=r"/x answers 500 after 4 attempts: run again"),
    ):
        client.get(f"{origin}/x")
    assert asked == ["/x"] * 4
    assert fake.slept == [0.25, 0.5, 1.0]  # the least full jitter allows: a quarter of 1, 2, 4


@pytest.mark.parametrize("status", [404, 410])
def test_gone_is_gone_without_a_retry(status: int) -> None:
    """404 and 410 say that there is nothing: no second request, no unavailability."""
    fake = FakeTime()
    with serve(lambda _: Answer(status)) as origin, client_for(origin, fake) as client, pytest.raises(Gone):
        client.get(f"{origin}/")
    assert fake.slept == []


def test_endless_redirects_end() -> None:
    """A redirect loop stops after the bound."""
    asked: list[str] = []

    def handler(target: str) -> Answer:
        asked.append(target)
        return Answer(302, headers={"Location": f"/{len(asked)}"})

    with serve(handler) as origin, client_for(origin, FakeTime(), max_redirects=5) as client, pytest.raises(Refused) as caught:
        client.get(f"{origin}/")
    assert caught.value.code == "too-many-redirects"
    assert len(asked) == 6


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data", "http://127.0.0.1:1/", "http://[::1]/", "http://localhost:9/",
        "//10.0.0.1/x", "http://[::ffff:10.0.0.1]/", "http://[64:ff9b::a00:1]/",
    ],
)  # fmt: skip
def test_a_redirect_to_a_private_address_is_not_followed(target: str) -> None:
    """A site cannot send the crawler into the operator's network."""
    with (
        serve(lambda _: Answer(302, headers={"Location": target})) as origin,
        client_for(origin, FakeTime()) as client,
        pytest.raises(Refused) as caught,
    ):
        client.get(f"{origin}/")
    assert caught.value.code == "private-address"


def test_a_redirect_to_another_site_is_not_followed() -> None:
    """A public host that is not allowed is told from a private address, and no name is looked up for it."""
    with (
        serve(lambda _: Answer(302, headers={"Location": "https://example.org/x"})) as origin,
        client_for(origin, FakeTime()) as client,
        pytest.raises(Refused) as caught,
    ):
        client.get(f"{origin}/")
    assert caught.value.code == "host-not-allowed"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://example.org/x", "http://user:secret@example.org/"])
def test_a_redirect_away_from_http_is_not_followed(target: str) -> None:
    """Only http(s) without credentials is followed."""
    with (
        serve(lambda _: Answer(302, headers={"Location": target})) as origin,
        client_for(origin, FakeTime()) as client,
        pytest.raises(Refused) as caught,
    ):
        client.get(f"{origin}/")
    assert caught.value.code == "redirect-refused"


def test_an_allowed_host_that_resolves_to_a_private_address_is_refused() -> None:
    """A name that was not configured by hand as the site itself must have public addresses only."""
    origin = "http://docs.example.org"
    client = HttpClient(frozenset({origin}), clock=FakeTime().clock(), resolve=lambda _: ["93.184.216.34", "10.1.2.3"])
    with client, pytest.raises(Refused) as caught:
        client.get(f"{origin}/")
    assert caught.value.code == "private-address"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True), ("127.0.0.1", False), ("10.0.0.1", False), ("192.168.1.1", False),
        ("169.254.1.1", False), ("::1", False), ("fe80::1%eth0", False), ("::ffff:10.0.0.1", False), ("0.0.0.0", False),
        ("224.0.0.1", False), ("100.64.0.1", False), ("64:ff9b::a00:1", False), ("64:ff9b::808:808", True),
        ("2002:a00:1::1", False), ("2002:808:808::1", True),
    ],
)  # fmt: skip
def test_public_addresses_are_told_from_private_ones(address: str, public: bool) -> None:
    """The address families of RFC 6890 are refused, also when an IPv4 address hides in an IPv6 one."""
    assert is_public_address("x", lambda _: [address]) is public


def test_a_name_without_addresses_is_not_public() -> None:
    """No address is not a public address."""
    assert is_public_address("x", lambda _: []) is False


def test_a_body_over_the_bound_is_refused_while_it_streams() -> None:
    """An endless body costs no more than the bound."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    with (
        raw_server(head, b"x" * 65536, 0) as origin,
        client_for(origin, FakeTime(), max_bytes=300_000) as client,
        pytest.raises(Refused) as caught,
    ):
        client.get(f"{origin}/")
    assert caught.value.code == "too-large"


def test_a_compressed_body_is_bounded_by_what_it_becomes() -> None:
    """A small gzip that unpacks to much is refused."""
    with (
        serve(lambda _: Answer(200, b"\0" * 5_000_000)) as origin,
        client_for(origin, FakeTime(), max_bytes=100_000) as client,
        pytest.raises(Refused) as caught,
    ):
        client.get(f"{origin}/")
    assert caught.value.code == "too-large"


def test_a_body_that_drips_for_ever_ends_at_the_deadline() -> None:
    """Each byte comes in time, the whole never does: the deadline of the attempt ends it (real time)."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    begun = time.monotonic()
    with raw_server(head, b"x", 0.05) as origin:
        known = frozenset({origin})
        limits = Limits(read=1.0, deadline=0.4, attempts=1)
        with HttpClient(known, trusted=known, limits=limits) as client, pytest.raises(SourceUnavailable, match="Timeout"):
            client.get(f"{origin}/")
    assert time.monotonic() - begun < 3


def test_headers_that_drip_for_ever_end_at_the_deadline() -> None:
    """A server that never ends its headers is hung up on, and what came is not taken for an answer (real time)."""
    begun = time.monotonic()
    with raw_server(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n", 0.05) as origin:
        known = frozenset({origin})
        limits = Limits(read=1.0, deadline=0.4, attempts=1)
        with (
            HttpClient(known, trusted=known, limits=limits) as client,
            pytest.raises(SourceUnavailable, match="did not answer"),
        ):
            client.get(f"{origin}/")
    assert time.monotonic() - begun < 3


def test_hanging_up_on_one_server_does_not_cut_another_threads_answer() -> None:
    """While one thread waits for headers that never end, another one's answer comes whole (real time)."""

    def late(_: str) -> Answer:
        time.sleep(0.3)
        return Answer(200, b"whole")

    with raw_server(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n", 0.05) as dripping, serve(late) as origin:
        known = frozenset({dripping, origin})
        limits = Limits(read=2.0, deadline=0.6, attempts=1)
        with HttpClient(known, trusted=known, limits=limits) as client, ThreadPoolExecutor(2) as pool:
            never = pool.submit(client.get, f"{dripping}/")
            time.sleep(0.45)
            other = pool.submit(client.get, f"{origin}/")
            with pytest.raises(SourceUnavailable):
                never.result()
            assert other.result().content == b"whole"


def test_all_threads_leave_a_site_alone_that_asks_for_it() -> None:
    """A Retry-After one request got holds back the next one, whoever makes it."""
    answers = iter([Answer(429, headers={"Retry-After": "7"}), Answer(200, b"one"), Answer(200, b"two")])
    fake = FakeTime()
    with serve(lambda _: next(answers)) as origin, client_for(origin, fake, attempts=1) as client:
        with pytest.raises(SourceUnavailable):
            client.get(f"{origin}/a")
        assert fake.slept == []
        client.get(f"{origin}/b")
    assert fake.slept == [7.0]


def test_a_conditional_request_may_be_answered_with_nothing_new() -> None:
    """304 is an answer where something was asked, and a refusal where nothing was."""
    with serve(lambda _: Answer(200, b"same")) as origin, client_for(origin, FakeTime()) as client:
        etag = client.get(f"{origin}/").headers["etag"]
        again = client.get(f"{origin}/", conditions=lambda url: {"If-None-Match": etag})
        changed = client.get(f"{origin}/", conditions=lambda url: {"If-None-Match": '"other"'})
    assert (again.status, again.content, changed.status, changed.content) == (304, b"", 200, b"same")
    with serve(lambda _: Answer(304)) as origin, client_for(origin, FakeTime()) as client, pytest.raises(Refused) as caught:
        client.get(f"{origin}/")
    assert caught.value.code == "http-304"


def test_a_name_that_changes_its_address_between_check_and_connection_is_refused() -> None:
    """The peer of the connection itself is checked: a name that resolved to a public address now leads to loopback."""
    with serve(lambda _: Answer(200, b"inside")) as origin:
        renamed = origin.replace("127.0.0.1", "localhost")
        fake = FakeTime()
        client = HttpClient(frozenset({renamed}), clock=fake.clock(), resolve=lambda _: ["93.184.216.34"])
        with client, pytest.raises(Refused) as caught:
            client.get(f"{renamed}/")
    assert caught.value.code == "private-address"


def test_a_silent_server_times_out() -> None:
    """A server that accepts and says nothing is unavailable after the read time-out."""
    with (
        raw_server(b"", b"", 0) as origin,
        client_for(origin, FakeTime(), read=0.2, attempts=2) as client,
        pytest.raises(SourceUnavailable, match="did not answer"),
    ):
        client.get(f"{origin}/")


def test_a_body_cut_short_is_not_an_answer() -> None:
    """Fewer bytes than Content-Length promised are a broken connection, never a document."""
    with (
        raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", b"", 0) as origin,
        client_for(origin, FakeTime(), attempts=2) as client,
        pytest.raises(SourceUnavailable),
    ):
        client.get(f"{origin}/")


def test_requests_keep_their_distance() -> None:
    """Between two requests lies the configured delay."""
    fake = FakeTime()
    with serve(lambda _: Answer(200, b"x")) as origin:
        known = frozenset({origin})
        with HttpClient(known, trusted=known, delay=2.0, clock=fake.clock()) as client:
            for _ in range(3):
                client.get(f"{origin}/")
    assert fake.slept == [2.0, 2.0]


def test_a_routed_origin_never_shows_its_real_address() -> None:
    """What is served on loopback in place of a public site carries public URLs, also after redirects and in errors."""
    answers = {"/a": Answer(302, headers={"Location": "/b"}), "/b": Answer(200, b"here"), "/bad": Answer(500)}
    public = "https://docs.example.org"
    with serve(lambda target: answers[target]) as served:
        fake = FakeTime()
        with HttpClient(frozenset({public}), routes={public: served}, clock=fake.clock()) as client:
            assert client.get(f"{public}/a").url == f"{public}/b"
            with pytest.raises(SourceUnavailable) as caught:
                client.get(f"{public}/bad")
            assert "127.0.0.1" not in str(caught.value)
            answers["/abs"] = Answer(301, headers={"Location": f"{served}/b"})
            assert client.get(f"{public}/abs").url == f"{public}/b"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("120", 120.0), (" 0 ", 0.0), ("Thu, 01 Jan 1970 00:20:00 GMT", 200.0), ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
     ("soon", None), ("", None), (None, None), ("-5", None)],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    """Both forms of RFC 9110 are read; a date is compared with now; nonsense says nothing."""
    assert retry_after_seconds(value, now=1_000.0) == seconds


def test_backoff_is_bounded() -> None:
    """The pause never exceeds the limit and never is zero."""
    assert backoff_seconds(50, draw=0.999999, limit=60.0) < 60.0
    assert backoff_seconds(0, draw=0.0, limit=60.0) == 0.25


def test_origins_are_compared_in_one_form() -> None:
    """Case and default ports make no difference; credentials are refused."""
    assert origin_of("HTTPS://Docs.Example.org:443/a") == "https://docs.example.org"
    assert origin_of("http://[::1]:8080/") == "http://[::1]:8080"
    with pytest.raises(ValueError, match="credentials"):
        origin_of("https://me@docs.example.org/")


def test_a_public_address_is_quoted() -> None:
    """{path} takes the document's path without its leading slash, quoted for a URL."""
    assert public_address("https://x.example.org/{path}", "/a b/c#d.html") == "https://x.example.org/a%20b/c%23d.html"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "set exactly one of path, url and replay (found none of them)"),
        ({"url": "https://x.example.org", "replay": "/dump"}, "(found url and replay)"),
        ({"url": "ftp://x.example.org"}, "not an http(s) URL"),
        ({"url": "https://me:pw@x.example.org"}, "credentials in a URL are not sent"),
        ({"url": "https://x.example.org", "public_url": "javascript:{path}"}, "not an http(s) URL"),
    ],
)
def test_options_say_what_is_wrong(values: dict[str, str], message: str) -> None:
    """Exactly one input, and only addresses that can be asked."""
    with pytest.raises(ValidationError) as caught:
        NetworkOptions.model_validate(values)
    assert message in str(caught.value)


def test_a_replay_does_not_wait_and_a_live_site_gets_a_pause() -> None:
    """Politeness is for other people's servers; an explicit delay is kept in both cases."""
    assert NetworkOptions.model_validate({"replay": "/dump"}).pause == 0.0
    assert NetworkOptions.model_validate({"url": "https://x.example.org"}).pause == 0.25
    assert NetworkOptions.model_validate({"replay": "/dump", "delay": 1}).pause == 1.0


def test_the_spool_gives_back_what_it_took() -> None:
    """Bodies come back byte for byte, in any order."""
    with Spool() as spool:
        tickets = [spool.put(content) for content in (b"one", b"", b"three" * 1000)]
        assert [spool.get(ticket) for ticket in reversed(tickets)] == [b"three" * 1000, b"", b"one"]
