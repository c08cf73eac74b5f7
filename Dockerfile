FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc prisma.config.ts ./
COPY prisma ./prisma
RUN npm ci && node_modules/.bin/prisma generate
COPY tsconfig.json ./
COPY src/contracts ./src/contracts
COPY src/domain ./src/domain
COPY src/dashboard ./src/dashboard
COPY docs ./docs
RUN node_modules/.bin/vite build --config src/dashboard/vite.config.ts
# The image already contains the Node version that the packages would install.
RUN npm prune --omit=dev && rm -rf node_modules/node-linux-*

FROM node:24-bookworm-slim
# Debian removes a version as soon as it has a newer one, so a pinned version stops building with each security update.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv git ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/src/generated ./src/generated
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY prisma ./prisma
COPY bin/healthcheck.mjs ./bin/
COPY src ./src
# Shared by all containers of an installation: the working directories of runs, packages of tools, bundled workflow code.
RUN mkdir -p /data && chown 1000:1000 /data
# The root may be read-only: only /data and /tmp are written.
ENV PERDURA_HOME=/data WORKER_PORT=9464 NODE_ENV=production
# The user `node`, by number: Kubernetes can tell only of a number that it is not root.
USER 1000:1000
EXPOSE 8080 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "bin/healthcheck.mjs"]
ENTRYPOINT ["node", "--max-semi-space-size=64", "src/main/cli.ts"]
CMD ["api"]
