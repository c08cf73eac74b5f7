FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc prisma.config.ts ./
COPY prisma ./prisma
RUN npm ci && node_modules/.bin/prisma generate
COPY tsconfig.json ./
COPY src/contracts ./src/contracts
COPY src/dashboard ./src/dashboard
RUN node_modules/.bin/vite build --config src/dashboard/vite.config.ts
# The image already contains the Node version that the packages would install.
RUN npm prune --omit=dev && rm -rf node_modules/node-linux-*

FROM node:24-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv git ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/src/generated ./src/generated
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY prisma ./prisma
COPY src ./src
# Shared by all containers of an installation: the working directories of runs, packages of tools, bundled workflow code.
RUN mkdir -p /data && chown node /data
ENV PERDURA_HOME=/data NODE_ENV=production
USER node
ENTRYPOINT ["node", "--max-semi-space-size=64", "src/main/cli.ts"]
CMD ["api"]
