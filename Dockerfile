# One image for the migration, the code server, the webserver, the daemon and the API; each service has a command line of its own.
FROM python:3.11-slim-bookworm

# HF_HOME: where a model that is named, and not in the image, is kept once it was fetched.
# MPLCONFIGDIR: the plots' font list, made once here; the root file system may be read-only later.
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 \
    DAGSTER_HOME=/srv/dagster BBJ_DATA_DIR=/srv/data HF_HOME=/srv/models MPLCONFIGDIR=/srv/app/matplotlib

WORKDIR /srv/app
# torch first, in a layer of its own: the largest package, and the project changes more often than it does.
COPY constraints.txt ./
RUN pip install --constraint constraints.txt torch==2.13.0
COPY pyproject.toml README.md LICENSE dagster.yaml workspace.yaml ./
COPY sql sql
COPY bbj_pipeline bbj_pipeline
# EXTRAS=[kubernetes] adds the run launcher that deploy/kubernetes-values.yaml names.
ARG EXTRAS=""
RUN pip install --constraint constraints.txt ".$EXTRAS" \
    && useradd --create-home --uid 10001 bbj \
    && mkdir -p "$DAGSTER_HOME/storage" "$DAGSTER_HOME/logs" "$DAGSTER_HOME/.logs_queue" "$BBJ_DATA_DIR" "$HF_HOME" /srv/exports \
    && cp dagster.yaml "$DAGSTER_HOME/" \
    && python -c "import matplotlib.font_manager" \
    && chown -R bbj "$DAGSTER_HOME" "$BBJ_DATA_DIR" "$HF_HOME"

USER 10001
EXPOSE 3000 4000 8080
