# The Node that the tests run on, by the version in package-lock.json; a test compares the two. It is
# not taken from npm here, as a checkout does: the base image has the same program with a system around it.
FROM node:24.21.0-bookworm-slim AS package
WORKDIR /opt/checkout
COPY package.json package-lock.json .npmrc ./
# Not `npm ci`: see docs/decisions/no-build-step.md.
RUN npm install --ignore-scripts --no-audit --no-fund
COPY . ./
# The package, installed as its users do, with what payments by card and deposits need.
RUN npm run --silent package \
 && mkdir /opt/tollgate \
 && echo '{}' > /opt/tollgate/package.json \
 && npm install --prefix /opt/tollgate --omit=dev --ignore-scripts --no-audit --no-fund ./build/release/tollgate-*.tgz \
      $(node -p "['stripe', 'viem'].map((name) => name + '@' + require('./package-lock.json').packages['node_modules/' + name].version).join(' ')")

FROM node:24.21.0-bookworm-slim
COPY --from=package /opt/tollgate /opt/tollgate
# The server writes only to ./data of the working directory, where the store is.
RUN ln -s /opt/tollgate/node_modules/tollgate/bin/tollgate.js /usr/local/bin/tollgate \
 && mkdir -p /var/lib/tollgate/data \
 && chown -R 1000:1000 /var/lib/tollgate
WORKDIR /var/lib/tollgate
VOLUME /var/lib/tollgate
# By number, so that a platform which insists on no root can see that it is none.
USER 1000:1000
# Two arenas of malloc: its threads hold some 20 MB less of what was freed.
ENV HOST=0.0.0.0 PORT=8787 MALLOC_ARENA_MAX=2
EXPOSE 8787
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# One process, so that the signal to stop reaches the server itself.
CMD ["node", "--max-semi-space-size=8", "/opt/tollgate/node_modules/tollgate/bin/tollgate.js", "serve"]
