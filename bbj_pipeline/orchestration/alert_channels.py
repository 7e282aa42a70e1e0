"""Sends an alert where people look: the log always, a Slack webhook and e-mail when they are configured.

Free of Dagster. What is worth an alert is decided elsewhere; here a text leaves this process, and no secret goes into a log.
"""

from __future__ import annotations

import logging
import smtplib
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from functools import partial
from urllib.parse import unquote, urlsplit

import requests

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.settings import Settings

__all__ = ["Alert", "Channel", "NotSent", "alert_channels"]

log = logging.getLogger(__name__)

_SECONDS = 10.0
_PLAIN, _TLS = 25, 465


@dataclass(frozen=True, slots=True)
class Alert:
    """What is told: one line of what and where, what to do about it, where to read on; ``recovered`` when it is over."""

    subject: str
    what: str
    remedy: str
    link: str
    recovered: bool = False

    @property
    def title(self) -> str:
        """The first line."""
        return f"{'Recovered' if self.recovered else 'Failed'}: {self.subject}"

    @property
    def body(self) -> str:
        """Everything below it."""
        lines = [self.what, self.remedy and f"Remedy: {self.remedy}", self.link]
        return "\n".join(line for line in lines if line)


class NotSent(Exception):
    """A channel did not take an alert; the text says which and why, without its secret."""


Channel = Callable[[Alert], None]
"""Sends one alert; raises ``NotSent`` when it did not arrive."""


def alert_channels(settings: Settings) -> Mapping[str, Channel]:
    """Return the configured channels by name; the log is always among them.

    Raises ``ConfigurationError`` when e-mail is configured by halves.
    """
    channels: dict[str, Channel] = {"log": _to_log}
    if settings.alert_slack_url is not None:
        channels["slack"] = partial(_to_slack, settings.alert_slack_url.get_secret_value())
    if settings.alert_email_to is not None:
        if settings.smtp_url is None or settings.alert_email_from is None:
            raise ConfigurationError(
                "BBJ_ALERT_EMAIL_TO is set, but no server or sender",
                remedy="set BBJ_SMTP_URL (smtp://host:port) and BBJ_ALERT_EMAIL_FROM",
            )
        url = settings.smtp_url.get_secret_value()
        channels["email"] = partial(_to_email, url, settings.alert_email_from, settings.alert_email_to)
    return channels


def _to_log(alert: Alert) -> None:
    log.log(logging.INFO if alert.recovered else logging.ERROR, "%s\n%s", alert.title, alert.body)


def _to_slack(url: str, alert: Alert) -> None:
    try:
        answer = requests.post(url, json={"text": f"*{alert.title}*\n{alert.body}"}, timeout=_SECONDS, allow_redirects=False)
    except requests.RequestException as error:
        # The text of the error repeats the URL, which is the secret.
        raise NotSent(f"Slack was not reached ({type(error).__name__}): check BBJ_ALERT_SLACK_URL") from None
    if answer.status_code != requests.codes.ok:
        raise NotSent(f"Slack answered {answer.status_code}: check BBJ_ALERT_SLACK_URL")


def _to_email(url: str, sender: str, recipients: str, alert: Alert) -> None:
    message = EmailMessage()
    message["Subject"] = alert.title
    message["From"] = sender
    message["To"] = recipients
    message.set_content(alert.body)
    server = urlsplit(url)
    host = server.hostname or "localhost"
    try:
        with _connect(server.scheme, host, server.port) as client:
            if server.username is not None:
                client.login(unquote(server.username), unquote(server.password or ""))
            client.send_message(message)
    except (OSError, smtplib.SMTPException) as error:
        raise NotSent(f"the mail server {host} did not take the message ({type(error).__name__}): check BBJ_SMTP_URL") from None


def _connect(scheme: str, host: str, port: int | None) -> smtplib.SMTP:
    """Open the connection: ``smtps`` is encrypted from the start, ``smtp`` as soon as the server offers it."""
    context = ssl.create_default_context()
    if scheme == "smtps":
        return smtplib.SMTP_SSL(host, port or _TLS, timeout=_SECONDS, context=context)
    client = smtplib.SMTP(host, port or _PLAIN, timeout=_SECONDS)
    client.ehlo()
    if client.has_extn("starttls"):
        client.starttls(context=context)
        client.ehlo()
    return client
