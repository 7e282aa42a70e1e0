"""The deployment files: they parse, their commands exist, and no secret stands in them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from dagster._cli import create_dagster_cli
from dagster._daemon.cli import create_dagster_daemon_cli
from dagster_webserver.cli import create_dagster_webserver_cli

from bbj_pipeline.cli import _cli as pipeline_cli
from bbj_pipeline.orchestration.pools import HEAVY
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.embedded import psql_program
from bbj_pipeline_tests.paths import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
VALUES: dict[str, Any] = yaml.safe_load((ROOT / "deploy/kubernetes-values.yaml").read_text(encoding="utf-8"))
MANIFESTS: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy/kubernetes-api.yaml").read_text(encoding="utf-8")))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SECRET = re.compile(r"PASSWORD|API_KEYS|SECRET|TOKEN|SMTP_URL|SLACK_URL")


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


@pytest.mark.parametrize("line", [line for line in commands() if line[0] != "postgres"], ids=" ".join)
def test_every_command_line_is_accepted(line: list[str]) -> None:
    """Each service's command and its options are known to the program it names."""
    programs: dict[str, Any] = {
        "bbj-pipeline": lambda: pipeline_cli,
        "dagster": create_dagster_cli,
        "dagster-webserver": create_dagster_webserver_cli,
        "dagster-daemon": create_dagster_daemon_cli,
    }
    assert accept(programs[line[0]](), line[1:]).name


@pytest.mark.parametrize("line", [line for line in commands() if line[0] == "postgres"], ids=" ".join)
def test_the_database_knows_its_settings(line: list[str], tmp_path: Path) -> None:
    """The database's command sets what PostgreSQL itself accepts: asked for the first setting's value, it prints one."""
    (tmp_path / "postgresql.conf").touch()
    name = line[line.index("-c") + 1].split("=")[0]
    asked = [str(psql_program().with_name("postgres")), "-C", name, "-D", str(tmp_path), *line[1:]]
    answer = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip()


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
    assert "\nUSER 10001\n" in DOCKERFILE
    for container in containers():
        assert container["securityContext"]["allowPrivilegeEscalation"] is False


def test_secrets_come_from_outside() -> None:
    """Every password and key is a reference to the environment that has no default; no address carries one."""
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name):  # without a value it is passed on from outside
                assert value is None or re.fullmatch(r"\$\{[A-Z_]+:\?[^}]+\}", value)
    for file in ("docker-compose.yml", "deploy/kubernetes-values.yaml", "deploy/kubernetes-api.yaml"):
        loaded = str(list(yaml.safe_load_all((ROOT / file).read_text(encoding="utf-8"))))
        assert re.search(r"://[^/@\s']+:[^/@\s']+@", loaded) is None
    for container in containers():
        assert not [entry["name"] for entry in container.get("env", ()) if SECRET.search(entry["name"])]


API_ONLY = {
    "api_keys", "webhook_secret", "allowed_hosts", "cors_origins", "rate_limit", "rate_burst", "serve_threads", "serve_queue",
    "request_seconds", "log_queries", "gap_floor", "trusted_proxies",
}  # fmt: skip
"""Settings that nothing but the search API reads."""
PIPELINE_ONLY = {
    "store_url", "links", "source_preference", "asset_owners", "source_code_url", "keep_publications", "keep_days",
    "judged_file", "rollback_on_regression", "ui_url", "alert_slack_url", "alert_email_to", "alert_email_from", "smtp_url",
    "watch_seconds",
}  # fmt: skip
"""Settings that the search API does not read."""
OF_THE_IMAGE = {"data_dir"}
"""Settings that the image sets: the volume of that folder is part of the composition."""


def test_every_setting_reaches_the_services_that_read_it() -> None:
    """A setting of the README's table that is set beside the compose file reaches the API, the pipeline's services or both."""
    settings = set(Settings.model_fields) - OF_THE_IMAGE
    assert settings >= API_ONLY | PIPELINE_ONLY
    expected = {"api": settings - PIPELINE_ONLY} | dict.fromkeys(
        ("migrate", "code", "webserver", "daemon"), settings - API_ONLY
    )
    for name, wanted in expected.items():
        passed = {
            key.removeprefix("BBJ_").lower() for key in COMPOSE["services"][name]["environment"] if key.startswith("BBJ_")
        }
        assert passed - {"dagster_url"} == wanted, name
    assert {f"BBJ_{name.upper()}=" for name in OF_THE_IMAGE} <= set(re.findall(r"BBJ_[A-Z_]+=", DOCKERFILE))


def test_the_api_sees_the_same_sources_as_the_pipeline() -> None:
    """Where the file of the instances lies, the API finds it too: it says which instances a signed request may name."""
    exports = "${BBJ_EXPORTS:-./exports}:/srv/exports:ro"
    assert all(exports in COMPOSE["services"][name]["volumes"] for name in ("code", "daemon", "api"))
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    (api,) = [manifest for manifest in MANIFESTS if manifest["kind"] == "Deployment"]
    (container,) = api["spec"]["template"]["spec"]["containers"]
    file = {"name": "BBJ_SOURCES_FILE", "value": "/srv/config/sources.yaml"}
    assert file in deployment["env"]
    assert file in container["env"]
    volumes = (deployment["volumes"], api["spec"]["template"]["spec"]["volumes"])
    assert {entry["configMap"]["name"] for found in volumes for entry in found if "configMap" in entry} == {
        "bbj-pipeline-sources"
    }


def test_a_run_in_kubernetes_gets_what_its_heaviest_stage_needs() -> None:
    """The launcher gives every run's pod the resources of the heaviest stage, and nothing of the code server replaces them.

    The chart hands the resources of a deployment with ``includeConfigInLaunchedRuns`` to its runs, before the launcher's.
    """
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    assert deployment["includeConfigInLaunchedRuns"]["enabled"]
    assert "resources" not in deployment
    given = VALUES["runLauncher"]["config"]["k8sRunLauncher"]["resources"]
    heaviest = max(HEAVY.values(), key=lambda tags: int(_resources(tags)["limits"]["memory"].removesuffix("Gi")))
    assert given == _resources(heaviest)


def _resources(tags: Mapping[str, Any]) -> Any:
    return tags["dagster-k8s/config"]["container_config"]["resources"]


def test_the_image_is_pinned_and_holds_no_secret() -> None:
    """Every package comes at the version of the constraints, the user is a number without privileges, no secret is a layer."""
    installs = re.findall(r"pip install (.*)", DOCKERFILE)
    assert installs
    assert all("--constraint constraints.txt" in line for line in installs)
    assert re.search(r"^FROM python:3\.11-slim-[a-z]+$", DOCKERFILE, re.MULTILINE)
    names = re.findall(r"^(?:ARG|ENV) ([A-Z_]+)|\b([A-Z_]+)=", DOCKERFILE, re.MULTILINE)
    assert not [name for pair in names for name in pair if SECRET.search(name)]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".env", ".git", ".venv", ".bbj_pipeline"} <= set(ignored)
