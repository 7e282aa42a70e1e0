# One image for the code server, the webserver and the daemon; each service has a command line of its own.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 DAGSTER_HOME=/srv/dagster BBJ_DATA_DIR=/srv/data

WORKDIR /srv/app
COPY constraints.txt pyproject.toml README.md LICENSE dagster.yaml workspace.yaml ./
COPY sql sql
COPY bbj_pipeline bbj_pipeline
RUN pip install --constraint constraints.txt torch==2.13.0 \
    && pip install --constraint constraints.txt . \
    && useradd --create-home --uid 10001 bbj \
    && mkdir -p "$DAGSTER_HOME" "$BBJ_DATA_DIR" /srv/exports \
    && cp dagster.yaml "$DAGSTER_HOME/" \
    && chown -R bbj "$DAGSTER_HOME" "$BBJ_DATA_DIR"

USER bbj
EXPOSE 3000 4000
