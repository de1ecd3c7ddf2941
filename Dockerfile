# Built from source on Debian 12; the runtime image holds the binary, the
# DuckDB module with its library, and the client libraries, nothing else.
FROM debian:12-slim AS build
WORKDIR /src
COPY tools/setup tools/paths.sh tools/get-duckdb tools/
RUN tools/setup
COPY . .
RUN . tools/paths.sh \
 && meson setup /build . --buildtype=release --prefix=/opt/tidemark \
      --libdir=lib -Dduckdb=enabled "$(duckdb_option)" \
 && ninja -C /build \
 && meson install -C /build --strip

FROM debian:12-slim
RUN apt-get update -q \
 && apt-get install -q -y --no-install-recommends ca-certificates libpq5 libmariadb3 \
      libsqlite3-0 libcurl4 libjansson4 libfyaml0 libxxhash0 libpcre2-8-0 libglib2.0-0 tzdata libsmartcols1 libjwt0 \
      zlib1g libzstd1 libmicrohttpd12 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 900 --create-home --home-dir /var/lib/tidemark tidemark
COPY --from=build /opt/tidemark /opt/tidemark
ENV PATH=/opt/tidemark/bin:$PATH
USER tidemark
WORKDIR /var/lib/tidemark
ENTRYPOINT ["tidemark"]
CMD ["help"]
