# A server of saved models: docs/deploying/container.md. Models are mounted at /models, keys at /keys.
FROM python:3.11-slim

# libgomp: LightGBM's threads.
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 sasanet

WORKDIR /opt/sasanet
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --constraint constraints.txt ".[cli,serve]"

USER sasanet
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/v2/health/ready', timeout=2)"]

# Beyond the container nobody asks without a key; SIGTERM finishes what has begun.
ENTRYPOINT ["sasanet", "serve", "--host", "0.0.0.0", "--keys", "/keys"]
CMD ["/models/model"]
