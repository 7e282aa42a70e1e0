"""The deployment files: they parse, their commands exist, and no secret stands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest
import yaml
from dagster._cli import create_dagster_cli
from dagster._daemon.cli import create_dagster_daemon_cli
from dagster_webserver.cli import create_dagster_webserver_cli

from bbj_pipeline.cli import _cli as pipeline_cli
from bbj_pipeline_tests.paths import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
VALUES: dict[str, Any] = yaml.safe_load((ROOT / "deploy/kubernetes-values.yaml").read_text(encoding="utf-8"))
MANIFESTS: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy/kubernetes-api.yaml").read_text(encoding="utf-8")))
SECRET = re.compile(r"PASSWORD|API_KEYS|SECRET|TOKEN")


def containers() -> Iterator[dict[str, Any]]:
    for manifest in MANIFESTS:
        if manifest["kind"] in ("Job", "Deployment"):
            yield from manifest["spec"]["template"]["spec"]["containers"]


def commands() -> list[list[str]]:
    services = COMPOSE["services"].values()
    probes = [service["healthcheck"]["test"][1:] for service in services if "healthcheck" in service]
    found = [service["command"] for service in services if "command" in service]
    found += [probe for probe in probes if probe[0].startswith("dagster")]
    found += [container["command"] for container in containers()]
    for deployment in VALUES["dagster-user-deployments"]["deployments"]:
        found.append(
            ["dagster", "api", "grpc", "-h", "0.0.0.0", "-p", str(deployment["port"]), *deployment["dagsterApiGrpcArgs"]]
        )
    return found


def accept(command: click.Command, arguments: list[str]) -> click.Command:
    """Parse a command line as its program would, without running it; return the command it names."""
    context = command.make_context(command.name, list(arguments), resilient_parsing=False)
    if not isinstance(command, click.Group):
        return command
    rest = [*context._protected_args, *context.args]
    _, inner, arguments = command.resolve_command(context, rest)
    assert inner is not None
    return accept(inner, arguments)


@pytest.mark.parametrize("line", commands(), ids=" ".join)
def test_every_command_line_is_accepted(line: list[str]) -> None:
    """Each service's command and its options are known to the program it names."""
    programs: dict[str, Any] = {
        "bbj-pipeline": lambda: pipeline_cli,
        "dagster": create_dagster_cli,
        "dagster-webserver": create_dagster_webserver_cli,
        "dagster-daemon": create_dagster_daemon_cli,
    }
    assert accept(programs[line[0]](), line[1:]).name


def test_every_service_is_watched_and_starts_in_order() -> None:
    """All that stay up have a health check, wait for what they need, and the API asks for keys."""
    services = COMPOSE["services"]
    assert set(services) == {"database", "migrate", "code", "webserver", "daemon", "api"}
    for name, service in services.items():
        assert ("healthcheck" in service) == (name != "migrate")
        for needed, how in service.get("depends_on", {}).items():
            assert how["condition"] == ("service_completed_successfully" if needed == "migrate" else "service_healthy")
    assert services["api"]["environment"]["BBJ_API_KEYS"].startswith("${BBJ_API_KEYS:?")


def test_nothing_is_published_beyond_loopback() -> None:
    """Ports are bound to 127.0.0.1, and the services run without capabilities on a read-only file system."""
    for name, service in COMPOSE["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        if name != "database":
            assert service["read_only"]
            assert service["cap_drop"] == ["ALL"]
    assert "\nUSER 10001\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for container in containers():
        assert container["securityContext"]["allowPrivilegeEscalation"] is False


def test_secrets_come_from_outside() -> None:
    """Every password and key is a reference to the environment that has no default; no address carries one."""
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name):
                assert re.fullmatch(r"\$\{[A-Z_]+:\?[^}]+\}", value)
    for file in ("docker-compose.yml", "deploy/kubernetes-values.yaml", "deploy/kubernetes-api.yaml"):
        loaded = str(list(yaml.safe_load_all((ROOT / file).read_text(encoding="utf-8"))))
        assert re.search(r"://[^/@\s']+:[^/@\s']+@", loaded) is None
    for container in containers():
        assert "env" not in container
