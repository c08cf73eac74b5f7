import { access, constants, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { exists, type Log } from './files.ts';
import { waitForLock } from './lock-file.ts';
import { run } from './processes.ts';
import { buildTemporal, downloadTemporal, OFFICIAL_RELEASES } from './temporal-obtain.ts';
import { computeSha256, findChange, recordSum, TEMPORAL_VERSION } from './temporal-pins.ts';

interface FinderOptions {
  home: string;
  /** The configured executable; if it is set, no other is considered. */
  path?: string | undefined;
  log: Log;
  /** The directory that all installations of a user share, so that one download or build serves them all. */
  cache?: string;
  /** The executables to look at first; by default the one on PATH. */
  installed?: readonly string[];
  releases?: string;
  /** The SHA-256 of the archives at that address; by default those of the official ones. */
  sums?: Readonly<Record<string, string>>;
  go?: string;
}

const OLDEST_SERVER = [1, 26] as const;
const WAYS_OUT = [
  'install it yourself (https://docs.temporal.io/cli) and put it on PATH, or name it in TEMPORAL_CLI_PATH',
  'install Go 1.25 or newer (https://go.dev/dl) and start again: it is then built from source, once',
  'set TEMPORAL_ADDRESS to a Temporal server that runs already',
];

/**
 * Returns a usable `temporal` executable: the configured one, an existing one, or else one that is obtained now and kept for
 * the next start. The configured one and the one on PATH are trusted; one that Perdura obtained is checked against its record
 * each time.
 */
export async function findTemporal(options: FinderOptions): Promise<string> {
  const { home, path, log } = options;
  const cache = options.cache ?? join(homedir(), '.cache/perdura/bin');
  if (path) return requireUsable(path);
  const places = [join(home, 'bin/temporal'), join(cache, 'temporal')];
  const executable =
    (await findFirstUsable(options.installed ?? (await findOnPath()), findBinaryFault, log)) ??
    (await findFirstUsable(places, findOwnFault, log));
  return executable ?? obtain(options, await findWritable(cache, join(home, 'bin')));
}

async function requireUsable(path: string): Promise<string> {
  const fault = await findBinaryFault(path);
  if (fault) throw new Error(`TEMPORAL_CLI_PATH names ${path}, which cannot be used: ${fault}.`);
  return path;
}

async function findFirstUsable(places: readonly string[], judge: typeof findBinaryFault, log: Log): Promise<string | undefined> {
  for (const place of places) {
    if (!(await exists(place))) continue;
    const fault = await judge(place);
    if (!fault) return place;
    log(`Not using ${place}: ${fault}`);
  }
  return undefined;
}

async function findOnPath(): Promise<string[]> {
  const { code, output } = await run('/bin/sh', ['-c', 'command -v temporal']);
  return code === 0 ? [output.trim()] : [];
}

/**
 * Returns the reason why an executable is unusable; undefined if it is usable. The version of its server matters, because the
 * start settings are the server's.
 */
async function findBinaryFault(executable: string): Promise<string | undefined> {
  const finished = await run(executable, ['--version']).catch((error: Error) => ({ code: 1, output: error.message }));
  const [, major, minor] = /Server (\d+)\.(\d+)/.exec(finished.output) ?? [];
  if (finished.code !== 0 || !major) return `it does not report its version (${finished.output.trim().slice(0, 200)})`;
  const [a, b] = OLDEST_SERVER;
  const recent = Number(major) > a || (Number(major) === a && Number(minor) >= b);
  return recent ? undefined : `its server is version ${major}.${minor}, and ${a}.${b} is needed`;
}

/**
 * Returns the reason why an obtained executable is unusable. Its record is checked first: a changed file is not executed, not
 * even for its version.
 */
const findOwnFault = async (executable: string): Promise<string | undefined> =>
  (await findChange(executable)) ?? (await findBinaryFault(executable));

async function findWritable(...directories: string[]): Promise<string> {
  for (const directory of directories) {
    const usable = await mkdir(directory, { recursive: true })
      .then(() => access(directory, constants.W_OK))
      .then(
        () => true,
        () => false,
      );
    if (usable) return directory;
  }
  throw new Error(`None of these directories can be written to: ${directories.join(', ')}`);
}

/** Obtains an executable. A second process waits, and then finds what the first one obtained. */
async function obtain(options: FinderOptions, directory: string): Promise<string> {
  const { log } = options;
  const place = join(directory, 'temporal');
  const release = await waitForLock(`${place}.lock`, ({ pid }) => log(`Process ${pid} is obtaining Temporal; waiting for it`));
  try {
    if ((await exists(place)) && !(await findOwnFault(place))) return place;
    const draft = join(directory, 'draft');
    // A start that was killed may have left its draft.
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft);
    try {
      const executable = await fetchOrBuild(options, draft);
      await recordSum(place, await computeSha256(executable));
      await rename(executable, place);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
    log(`Temporal is in ${place}`);
    return place;
  } finally {
    await release();
  }
}

async function fetchOrBuild(options: FinderOptions, draft: string): Promise<string> {
  const { log, releases = OFFICIAL_RELEASES, sums, go = 'go' } = options;
  for (const way of [
    () => downloadTemporal({ releases, draft, log, ...(sums ? { sums } : {}) }),
    () => buildTemporal({ go, draft, log }),
  ]) {
    let reason: string;
    try {
      const executable = await way();
      const fault = await findBinaryFault(executable);
      if (!fault) return executable;
      reason = fault;
    } catch (error) {
      reason = (error as Error).message;
    }
    log(reason);
  }
  throw new Error(
    `Perdura runs its workflows on Temporal, and version ${TEMPORAL_VERSION} of it could not be obtained. Three ways out:\n` +
      WAYS_OUT.map((way, index) => `  ${index + 1}. ${way}`).join('\n'),
  );
}
