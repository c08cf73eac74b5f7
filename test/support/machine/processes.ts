import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { localToken } from '../../../src/embedded/local-identity.ts';
import { findFreePort as freePortFrom } from '../../../src/embedded/ports.ts';
import type { InstallationSettings } from '../../../src/main/installation-settings.ts';
import { coverageOfChildren, flagsOfChildren, killMeasured } from '../../coverage/folder.ts';
import { type Client, clientOf } from '../client.ts';
import { note } from '../harness/children.ts';
import { RUN_MARK } from '../harness/run-mark.ts';

const CLI = fileURLToPath(new URL('../../../src/main/cli.ts', import.meta.url));
const FLOOR_SERVICE = fileURLToPath(new URL('./floor-service.ts', import.meta.url));

export interface Child {
  pid: number;
  /** Returns its output so far. */
  output(): string;
  /** Resolves when its output matches; rejects if it ends earlier. */
  prints(pattern: RegExp, timeout_ms?: number): Promise<void>;
  /** Resolves when it has ended. */
  ended: Promise<unknown>;
  /** Resolves with the exit code when it has ended and all of its output has been read. */
  closed: Promise<unknown>;
  /** Sends a signal, such as SIGSTOP, without waiting. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal and waits for the end; returns the exit code, or null after a signal. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts a command of Perdura in a separate process, which is killed at the latest when the test file ends. */
export const perdura = (command: string, env: Record<string, string>, args: string[] = []): Child =>
  nodeProcess([CLI, command, ...args], env);

/**
 * The flags of a short-lived process: the database client's WebAssembly is compiled once and not optimised, which saves a tenth
 * of its processor time.
 */
const FLAGS = ['--disable-warning=ExperimentalWarning', '--liftoff-only'];

const nodeProcess = (args: string[], env: Record<string, string>): Child =>
  childOf(
    spawn(process.execPath, [...FLAGS, ...flagsOfChildren(), ...args], {
      env: { ...baseEnv(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );

/** Starts a worker in a separate process, with an installation's database and task queue. */
export async function startWorkerProcess(setting: InstallationSettings, env: Record<string, string> = {}): Promise<Child> {
  const worker = perdura('worker', { ...envOf(setting), ...env });
  await worker.prints(/takes work/);
  return worker;
}

/** Starts an API server in a separate process, and a client for it that is not Alice. */
export async function startApiProcess(
  setting: InstallationSettings,
  env: Record<string, string> = {},
): Promise<{ api: Child; client: Client; token: string }> {
  return clientOfApi(setting, perdura('api', { ...envOf(setting), ...ANYWHERE, ...env }));
}

/** Starts API and worker together in a separate process. */
export const startFloorService = (setting: InstallationSettings, env: Record<string, string>) =>
  clientOfApi(setting, nodeProcess([FLOOR_SERVICE], { ...envOf(setting), ...ANYWHERE, ...env }));

const ANYWHERE = { PERDURA_HOST: '127.0.0.1', PERDURA_PORT: '0', IDENTITY_PROVIDERS: 'local' };

async function clientOfApi({ config }: InstallationSettings, api: Child): Promise<{ api: Child; client: Client; token: string }> {
  await api.prints(/API at \S+\n/);
  const { token } = await localToken(config.PERDURA_HOME);
  return { api, client: clientOf(/API at (\S+)/.exec(api.output())![1]!, token), token };
}

/** Returns the environment that a process needs to work for an installation. */
export const envOf = ({ config, database_url, temporal_address, encryption_keys, default_runtime }: InstallationSettings) => ({
  DATABASE_URL: database_url,
  TEMPORAL_ADDRESS: temporal_address,
  TEMPORAL_TASK_QUEUE: config.TEMPORAL_TASK_QUEUE,
  ENCRYPTION_KEYS: encryption_keys,
  PERDURA_HOME: config.PERDURA_HOME,
  DEFAULT_RUNTIME_BASE_URL: default_runtime.base_url,
  EGRESS_ALLOW: '127.0.0.1',
});

export function childOf(child: ChildProcess): Child {
  let printed = '';
  const hear = new Set<() => void>();
  const ended = once(child, 'exit');
  const closed = once(child, 'close');
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      for (const listener of hear) listener();
    });
  }
  note(child);
  return {
    pid: child.pid!,
    ended,
    closed,
    output: () => printed,
    prints(pattern, timeout_ms = 60_000) {
      return new Promise((resolve, reject) => {
        // A remaining timer would keep the caller's process alive.
        const settle = (how: () => void) => {
          clearTimeout(timer);
          hear.delete(check);
          how();
        };
        const fail = (why: string) => settle(() => reject(new Error(`${why}:\n${printed}`)));
        const timer = setTimeout(() => fail(`${pattern} was not printed within ${timeout_ms} ms`), timeout_ms);
        const check = () => pattern.test(printed) && settle(resolve);
        hear.add(check);
        void ended.then(([code]) => fail(`it ended with ${code}`));
        check();
      });
    },
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      if (signal === 'SIGKILL') killMeasured(child);
      else child.kill(signal);
      const [code] = await ended;
      return code as number | null;
    },
  };
}

/**
 * Returns the variables of this machine's environment that are needed to find programs and Node's compile cache, and the mark
 * of the run.
 */
export const baseEnv = () => ({
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  TEMPORAL_CLI_PATH: process.env.TEMPORAL_CLI_PATH ?? '',
  GOPROXY: process.env.GOPROXY ?? '',
  [RUN_MARK]: process.env[RUN_MARK] ?? '',
  ...coverageOfChildren(),
});

/** Returns a free port below the range of outgoing connections, which could otherwise take the port first. */
export const freePort = (): Promise<number> => freePortFrom(20_000 + Math.floor(Math.random() * 3_000));
