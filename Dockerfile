FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# Compile the large dependencies in a layer of their own, so that a change of
# pickup's code does not compile them again. The flags must be those below.
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack github.com/gin-gonic/gin github.com/prometheus/client_golang/prometheus/promhttp \
 github.com/alecthomas/kong github.com/pelletier/go-toml/v2 github.com/santhosh-tekuri/jsonschema/v6
COPY . .
ARG VERSION=
# scratch has no mkdir: make /data here.
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack -buildvcs=false -ldflags "-s -w -buildid= -X main.version=${VERSION}" -o /out/pickup ./cmd/pickup \
 && mkdir /out/data

FROM scratch
COPY --from=build /out/pickup /pickup
# A new volume inherits the owner of the directory that it is mounted on.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
ENV PICKUP_HOST=0.0.0.0 PICKUP_DB=/data/db.json
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/pickup", "health"]
ENTRYPOINT ["/pickup"]
