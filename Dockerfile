# Builds the host, and leaves out what only the build needs.
FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci
COPY scripts scripts
COPY machines machines
COPY src src
RUN npm run build && npm prune --omit=dev

FROM node:26-slim
ENV NODE_ENV=production \
    HOST_DATA_DIR=/data \
    HOST_HTTP_BIND=0.0.0.0 \
    HOST_MQTT_BIND=0.0.0.0 \
    HOST_LOG_FORMAT=json \
    # Variables that plugins may read: none, unless the owner names them.
    HOST_PLUGIN_ENVIRONMENT=
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY scripts/health-check.mjs scripts/
# The starter plugins: the repository of a host that has not been told of another one.
COPY repository repository
# A fresh volume takes over owner and mode of this directory.
RUN install --directory --owner=node --group=node --mode=0700 /data \
    && install --directory --owner=node --group=node dist/compile-cache
# Buffers of plugins that are freed go back to the machine at once: glibc keeps up to 64 MB in each arena otherwise.
ENV MALLOC_MMAP_THRESHOLD_=98304
USER node
# Compiles the program for the starts to come, as these cannot write there.
RUN ["node", "dist/main.js", "--version"]
VOLUME /data
EXPOSE 3000 1883
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "scripts/health-check.mjs"]
CMD ["node", "dist/main.js"]
