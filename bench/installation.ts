import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Installation } from '../src/main/dev.ts';

const CLI = fileURLToPath(new URL('../src/main/cli.ts', import.meta.url));
const MODEL = fileURLToPath(new URL('scripted-model.ts', import.meta.url));
const START_LIMIT_MS = 15 * 60_000;
const QUIET = '--disable-warning=ExperimentalWarning';

export interface Started {
  installation: Installation;
  token: string;
  /** The process ids by part: the node process, and the two servers. */
  pids: { node: number; temporal: number; postgres: number };
  stop(): Promise<void>;
}

/** Starts a whole installation in a separate home, as `npm start` does. `profile_dir` receives CPU profiles when it ends. */
export async function startInstallation({ profile_dir }: { profile_dir?: string | undefined } = {}): Promise<Started> {
  const home = await mkdtemp(join(tmpdir(), 'perdura-bench-'));
  const ready = join(home, 'bench-ready.json');
  const env = {
    ...process.env,
    PERDURA_HOME: home,
    PERDURA_READY_FILE: ready,
    PERDURA_PORT: '0',
    // The limit applies to each caller, and here a single caller sends everything.
    RATE_LIMIT_PER_MINUTE: '10000000',
    RUNNING_TASKS_PER_PRINCIPAL: '100000',
    STREAMS_PER_PRINCIPAL: '100000',
  };
  const flags = profile_dir ? ['--cpu-prof', `--cpu-prof-dir=${profile_dir}`] : [];
  // Node's flags are those of this process, which are those of `npm start`. The installation
  // notices through the channel that this process has ended, for whatever reason.
  const child = spawn(process.execPath, [...process.execArgv, ...flags, CLI, 'dev'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const stop = async () => {
    await ended(child);
    await rm(home, { recursive: true, force: true });
  };
  try {
    const installation = await waitUntilReady(child, ready);
    const token = (await readFile(installation.token_file, 'utf8')).trim();
    const { api: node = 0, temporal = 0, postgres = 0 } = installation.pids;
    return { installation, token, pids: { node, temporal, postgres }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits for the file, which appears once everything answers; a half-written one is not valid JSON yet. */
async function waitUntilReady(child: ChildProcess, file: string): Promise<Installation> {
  for (const last = Date.now() + START_LIMIT_MS; Date.now() < last && child.exitCode === null; await wait(100)) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text.endsWith('}\n')) return JSON.parse(text) as Installation;
  }
  throw new Error('The installation did not start');
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGINT');
  await exit;
}

export interface Model {
  url: string;
  stop(): Promise<void>;
}

export async function startModel(): Promise<Model> {
  const child = fork(MODEL, { execArgv: [QUIET] });
  const [port] = (await once(child, 'message')) as [number];
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async stop() {
      const exit = once(child, 'exit');
      child.disconnect();
      await exit;
    },
  };
}
