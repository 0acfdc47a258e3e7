# docker build -t pickup .
# docker buildx build --platform linux/amd64,linux/arm64 … compiles for the other platform, it does not emulate it.
# podman build and buildah need --format docker: their default format has no health check.
FROM --platform=${BUILDPLATFORM:-linux/amd64} golang:1.26 AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN go mod download
ARG TARGETOS
ARG TARGETARCH
# Compile the large dependencies in a layer of their own, so that a change of
# pickup's code does not compile them again. The flags must be those below.
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags nomsgpack,grpcnotrace github.com/gin-gonic/gin github.com/prometheus/client_golang/prometheus/promhttp go.etcd.io/etcd/client/v3 \
 github.com/alecthomas/kong github.com/pelletier/go-toml/v2 github.com/santhosh-tekuri/jsonschema/v6
COPY . .
ARG VERSION=
# scratch has no mkdir: make /data here.
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags nomsgpack,grpcnotrace -buildvcs=false -ldflags "-s -w -buildid= -X main.version=${VERSION}" -o /out/pickup ./cmd/pickup \
 && go run ./internal/tools/notices -o /out/THIRD_PARTY_NOTICES \
 && mkdir /out/data

FROM scratch
COPY --from=build /out/pickup /pickup
COPY --from=build /out/THIRD_PARTY_NOTICES /THIRD_PARTY_NOTICES
COPY LICENSE /LICENSE
# A new volume inherits the owner of the directory that it is mounted on.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
ENV PICKUP_HOST=0.0.0.0 PICKUP_DB=/data/db.json
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/pickup", "health"]
ENTRYPOINT ["/pickup"]
