# One binary, two images: --target broker and --target host.
FROM node:22-bookworm-slim AS console
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY web .
RUN npm run build

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=console /src/web/dist web/dist
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /bellhop ./cmd/bellhop

# No shell and no packages: certificates and a user. "make release" makes the same without a base image.
FROM gcr.io/distroless/static-debian12:nonroot AS broker
COPY --from=build /bellhop /usr/local/bin/bellhop
EXPOSE 7700
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["bellhop", "ready", "http://127.0.0.1:7700"]
CMD ["bellhop", "serve"]

# The host runs agents, so it needs git, Node for those that are written in JavaScript, and an init process that reaps
# their child processes. /agents is for their programs (bellhop agents install).
FROM node:22-bookworm-slim AS host
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl git openssh-client tini && rm -rf /var/lib/apt/lists/* \
	&& useradd --system --uid 10001 --create-home bellhop && install -d -o bellhop -g bellhop -m 0700 /data /agents
ENV BELLHOP_AGENTS_DIR=/agents
COPY --from=build /bellhop /usr/local/bin/bellhop
USER bellhop
EXPOSE 7701
VOLUME /data /agents
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD bellhop ready http://127.0.0.1:7701
ENTRYPOINT ["tini", "--"]
CMD ["bellhop", "host"]
