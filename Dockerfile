FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc prisma.config.ts ./
COPY prisma ./prisma
RUN npm ci && node_modules/.bin/prisma generate
COPY tsconfig.json ./
COPY src/contracts ./src/contracts
COPY src/dashboard ./src/dashboard
RUN node_modules/.bin/vite build --config src/dashboard/vite.config.ts
RUN npm prune --omit=dev

FROM node:24-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 git ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/src/generated ./src/generated
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY prisma ./prisma
COPY src ./src
# The bundled workflow code is kept here; nothing else is written.
RUN mkdir -p /data && chown node /data
ENV PERDURA_HOME=/data NODE_ENV=production
USER node
ENTRYPOINT ["node", "--max-semi-space-size=64", "src/main/cli.ts"]
CMD ["api"]
