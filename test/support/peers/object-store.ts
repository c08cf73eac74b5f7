import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';
import { readConfig } from '../../../src/main/config.ts';
import { createS3Store, type ObjectStore, parseS3Settings } from '../../../src/tools/snapshots/object-store.ts';

export interface TestObjectStore {
  /** The settings of a worker that uses the store. */
  env: Record<string, string>;
  objects: ObjectStore;
  /** The directory in which the server keeps its objects. */
  directory: string;
  /** Stops answering at its address until `resume`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server with S3's API. It knows one key. */
export async function startObjectStore(): Promise<TestObjectStore> {
  const directory = await mkdtemp(join(tmpdir(), 'perdura-s3-'));
  const serve = (port: number) =>
    new S3rver({
      ...{ address: '127.0.0.1', port, silent: true, directory },
      // Under whatever name the server is reached, the bucket is in the path.
      vhostBuckets: false,
      configureBuckets: [{ name: 'workspaces', configs: [] }],
    });
  let server = serve(0);
  const { port }: AddressInfo = await server.run();
  const env = {
    S3_BUCKET: 'workspaces',
    S3_ENDPOINT: `http://127.0.0.1:${port}`,
    S3_ACCESS_KEY_ID: 'S3RVER',
    S3_SECRET_ACCESS_KEY: 'S3RVER',
  };
  return {
    env,
    directory,
    objects: createS3Store(parseS3Settings(readConfig(env))!, fetch),
    pause: () => server.close(),
    async resume() {
      server = serve(port);
      await server.run();
    },
    async stop() {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
