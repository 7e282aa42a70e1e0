"""Every service of docker-compose.yml started by its own command line, against a real PostgreSQL over TCP.

    python -m benchmarks.services

The migration, code server, webserver, daemon and API run with Dagster's storage on PostgreSQL; only host names and ports are
replaced. Health checks are the file's own. A run launched through the webserver's GraphQL API must complete, the API must
find what it published, and all must stop when asked. Exits with 1 when anything did not hold.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from bbj_pipeline.settings import SAMPLES_DIR, project_file
from benchmarks.processes import BIN, PASSWORD, Service, Webserver, free_port, started, tcp_server, wait_for

ROOT = Path(__file__).resolve().parent.parent
KEY = "a-key-of-the-campaign"
SECRET = "a secret of the campaign"
PARTITION = "dwc-guide"


class Compose:
    """The command lines of the file, with this machine's address and free ports in place of the file's."""

    def __init__(self, database_port: int) -> None:
        self.services: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
        self.ports = {published: str(free_port()) for published in ("3000", "4000", "8080")}
        self.database_port = database_port

    def command(self, service: str) -> list[str]:
        return [self._here(word) for word in self.services[service]["command"]]

    def health(self, service: str) -> list[str]:
        kind, *line = self.services[service]["healthcheck"]["test"]
        assert kind == "CMD"
        return [self._here(word) for word in line]

    def environment(self, service: str, folder: Path) -> dict[str, str]:
        given = {
            "POSTGRES_PASSWORD": PASSWORD,
            "BBJ_API_KEYS": KEY,
            "BBJ_SOURCES_FILE": str(SAMPLES_DIR / "sources.yaml"),
            "BBJ_WEBHOOK_SECRET": SECRET,
        }
        image = {"DAGSTER_HOME": str(folder / "dagster"), "BBJ_DATA_DIR": str(folder / "data")}
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH", "LANG") if name in os.environ}
        values = self.services[service]["environment"]
        passed = {name: given.get(name) if value is None else self._value(value, given) for name, value in values.items()}
        return kept | image | {name: value for name, value in passed.items() if value is not None}

    def _here(self, word: str) -> str:
        for published, port in self.ports.items():
            word = word.replace(f":{published}/", f":{port}/") if ":" in word else port if word == published else word
        return {"0.0.0.0": "127.0.0.1", "code": "127.0.0.1"}.get(word, word)

    def _value(self, value: str, given: dict[str, str]) -> str:
        if value.startswith("${"):
            return given[value[2:].split(":")[0].rstrip("}")]
        return value.replace("@database:5432", f"@127.0.0.1:{self.database_port}")


def campaign(say: Any = print) -> dict[str, Any]:
    """Run everything once; return what was measured. Raises when a service, a check or the run fails."""
    measured: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="bbj-services-"))
    (folder / "dagster" / "storage").mkdir(parents=True)
    shutil.copyfile(project_file("dagster.yaml"), folder / "dagster" / "dagster.yaml")

    seconds, peak = load_definitions()
    say(f"{'definitions loaded':<44} {seconds:>6.1f} s of CPU, {peak:.0f} MB")

    def timed(what: str, since: float) -> None:
        measured[what] = round(time.monotonic() - since, 1)
        say(f"{what:<44} {measured[what]:>6.1f} s")

    try:
        with tcp_server() as database_port, ExitStack() as running:
            compose = Compose(database_port)
            say(f"PostgreSQL on 127.0.0.1:{database_port}")

            def start(name: str) -> Service:
                environment = compose.environment(name, folder)
                return running.enter_context(started(name, compose.command(name), environment=environment, folder=folder))

            def healthy(service: Service) -> None:
                line, environment = compose.health(service.name), compose.environment(service.name, folder)

                def check() -> bool:
                    service.require_alive()
                    done = subprocess.run(
                        [str(BIN / line[0]), *line[1:]], env=environment, capture_output=True, check=False, cwd=folder
                    )
                    return done.returncode == 0

                begun = time.monotonic()
                wait_for(f"{service.name} healthy", check, seconds=300, pause=1)
                timed(f"{service.name} healthy", begun)

            begun = time.monotonic()
            migrated = start("migrate")
            if migrated.process.wait(300) != 0:
                raise RuntimeError(migrated.tail())
            timed("migrate done", begun)
            code = start("code")
            healthy(code)
            services = [code, *(start(name) for name in ("webserver", "daemon", "api"))]
            for service in services[1:]:
                healthy(service)

            webserver = Webserver(int(compose.ports["3000"]))
            location = wait_for("code location loaded", webserver.location, seconds=120)
            say(f"code location {location}")
            begun = time.monotonic()
            run = webserver.launch(location, "mdx_refresh", PARTITION)

            def ended() -> str | None:
                status = next((found["status"] for found in webserver.runs("mdx_refresh") if found["runId"] == run), None)
                return str(status) if status in ("SUCCESS", "FAILURE", "CANCELED") else None

            measured["run"] = wait_for("the launched run ends", ended, seconds=480, pause=2)
            timed(f"run of mdx/{PARTITION} {measured['run']}", begun)
            if measured["run"] != "SUCCESS":
                raise RuntimeError(code.tail(60))

            address = f"http://127.0.0.1:{compose.ports['8080']}"
            measured["hits"] = search(address, KEY)
            measured["without a key"] = search(address, None)
            say(f"API search: {measured['hits']} hits; without a key: {measured['without a key']}")
            for service in services:
                measured[f"{service.name} MB"] = round(service.memory())
                say(f"{service.name + ' memory with children':<44} {service.memory():>6.0f} MB")
            for service in reversed(services):
                begun = time.monotonic()
                service.stop()
                timed(f"{service.name} stopped ({service.process.returncode})", begun)
        measured["unwritable"] = unwritable(compose, folder / "dagster")
        say(f"written to Dagster's home where the container cannot: {measured['unwritable'] or 'nothing'}")
        return measured
    finally:
        shutil.rmtree(folder)


def unwritable(compose: Compose, home: Path) -> list[str]:
    """Return what the services made in Dagster's home outside the folders that their containers can write to."""
    service = compose.services["webserver"]
    mounted = [*service["tmpfs"], *(volume.split(":")[1] for volume in service["volumes"] if not volume.startswith("$"))]
    return [path.name for path in home.iterdir() if path.name != "dagster.yaml" and f"/srv/dagster/{path.name}" not in mounted]


def load_definitions() -> tuple[float, float]:
    """Return the CPU seconds and the peak megabytes of a fresh process that loads what a code server loads."""
    script = (
        "import resource, bbj_pipeline.definitions\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), float(kilobytes) / 1024


def search(address: str, key: str | None) -> int | str:
    """Return the number of hits of a question to the API, or the status it refused it with."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    body = json.dumps({"query": "create a window", "limit": 5}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{address}/search", body, headers), timeout=60) as response:
            return len(json.load(response)["hits"])
    except urllib.error.HTTPError as error:
        return f"status {error.code}"


if __name__ == "__main__":
    campaign()
