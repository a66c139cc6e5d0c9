# pytest-audiobench on the processor: docker build -f docker/cpu.Dockerfile -t audiobench .
FROM python:3.12-slim-bookworm

ARG EXTRAS=baseline,hf,xdist
ARG TORCH=2.13.0
# The address of PyTorch's builds for the processor: without it torch brings gigabytes of CUDA.
ARG TORCH_INDEX=""

WORKDIR /src
COPY . .
# hadolint ignore=DL3013
RUN pip install --no-cache-dir "torch==$TORCH" ${TORCH_INDEX:+"--index-url=$TORCH_INDEX"} \
    && pip install --no-cache-dir ".[$EXTRAS]" \
    && rm -rf /src/* \
    && useradd --create-home --uid 1000 audiobench \
    && install --directory --owner=1000 /work

USER 1000
ENV HF_HUB_DISABLE_TELEMETRY=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /work
CMD ["pytest", "--pyargs", "pytest_audiobench.evals", "-k", "bundled"]
