# An image that serves: no root, a health check, and kernels that are compiled before the first request.
FROM python:3.12-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY stream_maxloss stream_maxloss
COPY connectors connectors
RUN python -m venv /opt/maxloss && /opt/maxloss/bin/pip install --no-cache-dir '.[serve,kafka]'
# Kernels are kept where the service looks for them: a run over a few rows makes them.
COPY deploy/warm.csv /src/warm.csv
ENV NUMBA_CACHE_DIR=/opt/maxloss/kernels
RUN /opt/maxloss/bin/maxloss tail warm.csv --target label --model HingeOGD --quiet \
    && /opt/maxloss/bin/maxloss tail warm.csv --target label --quiet

FROM python:3.12-slim-bookworm
RUN groupadd --gid 10001 maxloss && useradd --uid 10001 --gid 10001 --no-create-home maxloss \
    && mkdir -p /var/lib/maxloss && chown maxloss:maxloss /var/lib/maxloss
COPY --from=build --chown=maxloss:maxloss /opt/maxloss /opt/maxloss
ENV PATH=/opt/maxloss/bin:$PATH NUMBA_CACHE_DIR=/opt/maxloss/kernels PYTHONUNBUFFERED=1
USER 10001:10001
VOLUME /var/lib/maxloss
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/v2/health/ready', timeout=2)"]
ENTRYPOINT ["maxloss"]
CMD ["serve", "/var/lib/maxloss/state", "--target", "label", "--listen", "0.0.0.0:8080", "--token-file", "/run/secrets/maxloss-tokens"]
