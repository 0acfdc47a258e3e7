FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# What takes longest, in a layer that outlives a change of our own code; the
# flags are those below, or it would be for nothing.
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack github.com/gin-gonic/gin github.com/prometheus/client_golang/prometheus/promhttp \
 github.com/alecthomas/kong github.com/pelletier/go-toml/v2 github.com/santhosh-tekuri/jsonschema/v6
COPY . .
ARG VERSION=
# /out/data is made here because scratch has no command that could make it.
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack -buildvcs=false -ldflags "-s -w -buildid= -X main.version=${VERSION}" -o /out/pickup ./cmd/pickup \
 && mkdir /out/data

FROM scratch
COPY --from=build /out/pickup /pickup
# A new volume takes over the owner of the folder that it is mounted on.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
ENV PICKUP_HOST=0.0.0.0 PICKUP_DB=/data/db.json
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/pickup", "health"]
ENTRYPOINT ["/pickup"]
