import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { constants } from 'node:os';
import { PassThrough, pipeline, type Readable, type Writable } from 'node:stream';
import type { Confinement } from './confinement.ts';
import type { HostPath } from './host-paths.ts';
import { BASE_ENV, proxyEnv, stateEnv, workspaceEnv, workspaceName } from './job.ts';
import { launchProcess } from './launch-process.ts';
import type { Limits, User } from './settings.ts';
import { shareState, shareWorkspace } from './workspaces.ts';

/** A command to run under the rules of a tool call, without a time limit: a stdio MCP server, a shell. */
export interface ConfinedCommand {
  /**
   * The program. Unless it is absolute, it is looked up on the PATH inside the sandbox, which has only the system's directories
   * and `paths`.
   */
  command: string;
  args?: readonly string[];
  /** The environment in addition to PATH, HOME, TMPDIR and LANG, which it may override. */
  env?: Record<string, string>;
  /** The working directory; by default the workspace, or the private temporary directory. */
  cwd?: string;
  /** The run's directory, below the runner's `workspaces`; writable, and named by `PERDURA_WORKSPACE`. */
  workspace?: string;
  /**
   * A directory of Perdura's own data that outlasts the command: its home and working directory, also named by `PERDURA_STATE`.
   * Only Perdura's code may set it.
   */
  state?: string;
  /** True for network access through the egress proxy, by the usual proxy variables; by default false. */
  network?: boolean;
  /**
   * Further host paths, at the same place inside; read-only unless marked otherwise. They must be allowed by the runner's
   * `host_paths`.
   */
  paths?: readonly HostPath[];
  /** Directories of Perdura's own data. They are not checked, so only Perdura's code may set them, never a user's input. */
  own_paths?: readonly Required<HostPath>[];
  limits?: Partial<Limits>;
}

export interface ConfinedProcess {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /**
   * Resolves when the command and everything it started have ended: with 128 + n after signal n, and with 137 also if a limit
   * was exceeded.
   */
  exit: Promise<number>;
  /** Ends the command and everything it started; resolves when that is done. Safe to call again. */
  kill(): Promise<void>;
}

const COMMAND_LIMITS: Limits = {
  memory_mb: 1024,
  address_space_mb: 0,
  processes: 256,
  open_files: 1024,
  file_mb: 512,
  cpu_s: 0,
  tmp_mb: 256,
};

const START_MS = 15_000;
const STOP_MS = 3_000;
const FIRST_SLOT = 128;
const SLOTS = 128;

interface CommandHost {
  confinement: Confinement;
  command: readonly string[];
  run_as?: User | undefined;
  /** The command's checked paths. */
  host_paths: Required<HostPath>[];
  /** The numbers in use, one for each running command. If namespaces are forbidden, each selects a private directory. */
  slots: Set<number>;
}

/** Starts a command. Resolves when it runs; rejects with the reason if it cannot be found or confined. */
export async function startConfined(command: ConfinedCommand, host: CommandHost): Promise<ConfinedProcess> {
  const { child, request, release } = await launch(command, host);
  const exit = new Promise<number>((resolve) => {
    const finish = (code: number) => {
      release();
      resolve(code);
    };
    child.once('exit', (code) => finish(code ?? 137));
    child.once('error', () => finish(127));
  });
  const [stdout, stderr] = [bufferOutput(child.stdout!), bufferOutput(child.stderr!)];
  const control = child.stdio[3] as Writable;
  for (const stream of [child.stdin, control]) stream?.on('error', () => {});
  control.write(`${JSON.stringify(request)}\n`);
  const kill = () => end(child, exit);
  try {
    await waitForStart(child);
  } catch (reason) {
    await kill();
    throw reason;
  }
  return { stdin: child.stdin!, stdout, stderr, exit, kill };
}

/** Starts the supervisor of a command. A request that is refused starts nothing and changes nothing. */
async function launch(command: ConfinedCommand, host: CommandHost) {
  const { confinement, slots } = host;
  if (confinement.tier === 'refused') throw new Error(`commands cannot be confined on this machine (${confinement.reason})`);
  const slot = takeSlot(slots);
  const pass = command.network && confinement.proxy ? confinement.proxy.admit() : null;
  const release = () => {
    slots.delete(slot);
    pass?.revoke();
  };
  try {
    const request = buildRequest(command, { slot, ...host, token: pass?.token ?? null });
    if (command.workspace && confinement.tier !== 'process') await shareWorkspace(command.workspace);
    if (command.state && confinement.tier !== 'process') await shareState(command.state, confinement.tier);
    const [file = '', ...args] = host.command;
    const options: SpawnOptions = { stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'], env: {}, detached: true, ...host.run_as };
    return { child: await launchProcess(file, args, options), request, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Buffers output until it is read: Node drops the unread output of an ended process. */
function bufferOutput(output: Readable): Readable {
  const buffer = new PassThrough();
  pipeline(output, buffer, () => {});
  return buffer;
}

function takeSlot(slots: Set<number>): number {
  for (let slot = FIRST_SLOT; slot < FIRST_SLOT + SLOTS; slot += 1) {
    if (!slots.has(slot)) {
      slots.add(slot);
      return slot;
    }
  }
  throw new Error(`no more than ${SLOTS} confined commands can run at once`);
}

/** Builds the request that `confine.py` reads. */
function buildRequest(
  command: ConfinedCommand,
  {
    slot,
    confinement,
    host_paths,
    token,
  }: { slot: number; token: string | null } & Pick<CommandHost, 'confinement' | 'host_paths'>,
) {
  const settings = confinement.settings({ ...COMMAND_LIMITS, ...command.limits });
  const port = confinement.proxy?.port || 3128;
  const surroundings = { tier: confinement.tier, workspaces: settings.workspaces };
  return {
    ...settings,
    host_paths: command.state === undefined ? host_paths : [...host_paths, { path: command.state, writable: true }],
    slot,
    argv: [command.command, ...(command.args ?? [])],
    env: {
      ...BASE_ENV,
      ...proxyEnv(token === null ? null : { port, token }),
      ...workspaceEnv(command.workspace, confinement.tier),
      ...stateEnv(command.state),
      ...command.env,
    },
    // The next process may run as another user of the same group.
    umask: command.state === undefined ? null : 0o002,
    cwd: command.cwd ?? command.state ?? (confinement.tier === 'process' ? command.workspace : null) ?? null,
    workspace: command.workspace === undefined ? null : workspaceName(command.workspace, surroundings),
    network: token !== null,
    proxy_port: port,
  };
}

function waitForStart(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the command was not started in time')), START_MS);
    let text = '';
    const status = child.stdio[4] as Readable;
    status.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    status.once('close', () => {
      clearTimeout(timer);
      const word = text
        ? (JSON.parse(text) as { started?: true; failed?: string; errno?: number | null })
        : { failed: 'the sandbox ended before the command started' };
      if (word.failed === undefined) resolve();
      else reject(createRefusal(word.failed, 'errno' in word ? word.errno : null));
    });
  });
}

/** Stops a command by closing its control channel; kills it if it ignores that. */
async function end(child: ChildProcess, exit: Promise<number>): Promise<void> {
  (child.stdio[3] as Writable | null)?.destroy();
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await exit;
  clearTimeout(timer);
}

/** System errors of a supervisor that are treated as if this process had met them. */
const LACKS = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'] as const;

function createRefusal(message: string, errno: number | null = null): Error {
  const code = LACKS.find((name) => constants.errno[name] === errno);
  return Object.assign(new Error(message), code && { code, syscall: 'spawn' });
}
