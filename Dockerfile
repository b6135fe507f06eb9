# One image for every role: API, workers, migration, Flower. docker-compose.yml says which command runs where.

FROM python:3.11.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/stepmill
WORKDIR /src
COPY requirements.txt requirements-dev.txt ./
RUN /opt/stepmill/bin/pip install --require-hashes --requirement requirements.txt
# What builds the package is pinned too, and does not reach the final image.
RUN awk '/^[a-z]/ { wanted = /^setuptools==/ } wanted' requirements-dev.txt > build.txt \
    && pip install --require-hashes --requirement build.txt
COPY pyproject.toml README.md LICENSE ./
COPY stepmill stepmill
COPY worker worker
COPY api api
COPY tools tools
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/stepmill/bin/pip install --no-deps /wheels/stepmill-*.whl

FROM python:3.11.13-slim-bookworm
ENV PATH=/opt/stepmill/bin:$PATH \
    PYTHONPATH=/srv/own \
    PYTHONUNBUFFERED=1 \
    STEPMILL_DATA_DIR=/data
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin stepmill \
    && install -d -o stepmill -g stepmill /data /srv/own
COPY --from=build /opt/stepmill /opt/stepmill
COPY worker/flowerconfig.py /opt/stepmill/flowerconfig.py
USER stepmill
WORKDIR /home/stepmill
VOLUME /data
# SIGTERM: a worker takes nothing new, finishes what fits its grace time and hands the rest back.
STOPSIGNAL SIGTERM
CMD ["stepmill", "--help"]
