# pytest-audiobench on NVIDIA's cards: docker build -f docker/cuda.Dockerfile -t audiobench:cuda .
# Run it with --gpus all. torch brings CUDA's libraries; the driver is the host's.
FROM python:3.12-slim-bookworm

ARG EXTRAS=baseline,hf,lora,xdist
ARG TORCH=2.13.0

WORKDIR /src
COPY . .
# hadolint ignore=DL3013
RUN pip install --no-cache-dir "torch==$TORCH" \
    && pip install --no-cache-dir ".[$EXTRAS]" \
    && rm -rf /src/* \
    && useradd --create-home --uid 1000 audiobench \
    && install --directory --owner=1000 /work

USER 1000
ENV HF_HUB_DISABLE_TELEMETRY=1 PYTHONDONTWRITEBYTECODE=1
# What the host's container toolkit reads.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /work
CMD ["pytest", "--pyargs", "pytest_audiobench.evals", "-k", "bundled"]
