# The image holds Tidemark's Debian packages in a small Debian 12. It runs as the
# user 900, also with a read-only root file system. State and files are in the volume
# /var/lib/tidemark. docs/install.md shows how.
FROM debian:12-slim AS build
WORKDIR /src
COPY tools/setup tools/paths.sh tools/get-duckdb tools/
RUN tools/setup && apt-get install -q -y --no-install-recommends dpkg-dev
COPY . .
# The commit, for `tidemark version --json`: .git is not copied.
ARG COMMIT=
RUN packaging/debian/build --out /packages --commit "$COMMIT"

# A number is what Kubernetes compares for runAsNonRoot, and what owns volumes that
# are there already.
FROM debian:12-slim AS installed
COPY --from=build /packages /packages
RUN groupadd --system --gid 900 tidemark \
 && useradd --system --uid 900 --gid 900 --home-dir /var/lib/tidemark \
      --no-create-home --shell /usr/sbin/nologin tidemark \
 && apt-get update -q \
 && apt-get install -q -y --no-install-recommends ca-certificates tzdata libjwt0 \
      /packages/tidemark_*.deb /packages/tidemark-duckdb_*.deb \
 && rm -rf /packages /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

# One layer, without the package files.
FROM scratch
COPY --from=installed / /
USER 900:900
ENV TIDEMARK_CONFIG=/etc/tidemark/tidemark.yaml
WORKDIR /var/lib/tidemark
VOLUME /var/lib/tidemark
ENTRYPOINT ["tidemark"]
CMD ["help"]
