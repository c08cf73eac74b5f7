import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createCursor } from '../../../folders/cursor.ts';
import { type Folder, openFolder } from '../../../folders/folder.ts';
import { removeFolder } from '../../../folders/remove.ts';
import { shareWithTools } from '../../../toolrunner/index.ts';
import { watchSize } from '../../size-watch.ts';
import { type StartConfined, truncateStart } from '../stdio.ts';
import { npmName, type PackageLaunch } from './launch.ts';

/** The reason why a server cannot start, as a sentence for its owner, with an error code. */
export class InstallFailed extends Error {
  constructor(specs: readonly string[], reason: string) {
    super(`mcp_install_failed: ${specs.join(', ')} could not be installed: ${reason}`);
  }
}

export interface InstallPorts {
  startConfined: StartConfined;
  /** The interpreter that creates the environments of Python packages. */
  python: string | undefined;
  /** The size limit of one package with its dependencies. */
  max_bytes: number;
  timeout_ms: number;
}

interface Install extends Pick<PackageLaunch, 'registry' | 'specs'> {
  /** The directory to install into; it must exist and be empty. */
  dir: string;
  /** The address of the registry; undefined: the public one. */
  address: string | undefined;
}

/** The limits of an installation. It compiles and unpacks, so they are higher than a server's. */
const LIMITS = { memory_mb: 2_048, tmp_mb: 64 };
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Installs a package in the sandbox with network access, because packages run their own scripts. Throws `InstallFailed`. */
export async function install({ registry, specs, dir, address }: Install, ports: InstallPorts): Promise<void> {
  const scratch = join(dir, '.install');
  await mkdir(scratch);
  await shareWithTools(dir);
  const certificates = await lstat(CERTIFICATES).then(
    () => CERTIFICATES,
    () => undefined,
  );
  const env = { HOME: scratch, TMPDIR: scratch, ...(registry === 'npm' ? npmEnv : pipEnv)({ scratch, address, certificates }) };
  const deadline = AbortSignal.timeout(ports.timeout_ms);
  for (const argv of registry === 'npm' ? npmSteps(dir, specs) : pipSteps(dir, specs, ports.python))
    await step(argv, { specs, dir, env, deadline }, ports);
  await removeFolder(scratch);
}

interface Registry {
  scratch: string;
  address: string | undefined;
  certificates: string | undefined;
}

const npmEnv = ({ scratch, address, certificates }: Registry) => ({
  npm_config_cache: join(scratch, 'npm'),
  npm_config_update_notifier: 'false',
  ...(address && { npm_config_registry: address }),
  ...(certificates && { npm_config_cafile: certificates }),
});

const pipEnv = ({ address, certificates }: Registry) => ({
  PIP_NO_CACHE_DIR: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_NO_INPUT: '1',
  PIP_RETRIES: '1',
  ...(address && { PIP_INDEX_URL: address }),
  ...(certificates && { PIP_CERT: certificates }),
});

const npmSteps = (dir: string, specs: string[]) => [
  ['npm', 'install', '--prefix', dir, '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error', '--', ...specs],
];

const pipSteps = (dir: string, specs: string[], python = 'python3') => [
  [python, '-I', '-m', 'venv', join(dir, 'env')],
  [join(dir, 'env/bin/python'), '-I', '-m', 'pip', 'install', '--quiet', '--', ...specs],
];

interface Step {
  specs: string[];
  dir: string;
  env: Record<string, string>;
  deadline: AbortSignal;
}

/** Runs one command of an installation. */
async function step(argv: string[], { specs, dir, env, deadline }: Step, ports: InstallPorts): Promise<void> {
  const ended = new AbortController();
  const command = {
    command: '/bin/sh',
    // The server may run as another user of the sandbox, and reads what is created here.
    args: ['-c', 'umask 022; cd "$0"; exec "$@"', dir, ...argv],
    env,
    network: true,
    own_paths: [{ path: dir, writable: true }],
    limits: LIMITS,
  };
  const stop = AbortSignal.any([deadline, ended.signal]);
  const watching = watchSize(dir, { bytes: ports.max_bytes }, (reason) => ended.abort(reason));
  try {
    const child = await ports.startConfined(command, stop);
    child.stdin.end();
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream
        .on('error', () => {})
        .on('data', (chunk: Buffer) => {
          output = truncateStart(output + chunk.toString());
        });
    const code = await child.exit;
    stop.throwIfAborted();
    if (code !== 0) throw new InstallFailed(specs, output.trim() || `${argv[0]} ended with exit code ${code}`);
  } catch (error) {
    if (error instanceof InstallFailed) throw error;
    if (deadline.aborted) throw new InstallFailed(specs, `it took longer than ${ports.timeout_ms / 1_000} s`);
    if (ended.signal.aborted) throw new InstallFailed(specs, ended.signal.reason);
    throw new InstallFailed(specs, (error as Error).message);
  } finally {
    watching.abort();
  }
}

const MANIFEST_BYTES = 1024 * 1024;

/** Returns the path of a package's program. Throws a sentence if there is none. Follows no link that a package has made. */
export async function findProgram(dir: string, { registry, specs, program }: PackageLaunch): Promise<string> {
  const root = await openFolder(dir);
  try {
    const name = program ?? (await npmProgram(root, npmName(specs[0] as string)));
    const place = registry === 'npm' ? 'node_modules/.bin' : 'env/bin';
    if (await isThere(root, place, name)) return join(dir, place, name);
    throw new InstallFailed(
      specs,
      `it has no program named ${name}; name one with ${registry === 'npm' ? '--package' : '--from'}`,
    );
  } finally {
    await root.close();
  }
}

async function isThere(root: Folder, place: string, name: string): Promise<boolean> {
  return inFolder(root, place, (folder) => folder.stat(name)).then(
    () => true,
    () => false,
  );
}

async function inFolder<T>(root: Folder, path: string, work: (folder: Folder) => Promise<T>): Promise<T> {
  const cursor = createCursor(root);
  try {
    return await work(await cursor.to(path));
  } finally {
    await cursor.close();
  }
}

/** Chooses the program as `npx` does: the only one, or the one named like the package. */
async function npmProgram(root: Folder, name: string): Promise<string> {
  const own = name.split('/').at(-1) as string;
  try {
    const text = await inFolder(root, `node_modules/${name}`, (folder) => smallFile(folder, 'package.json'));
    const { bin } = JSON.parse(text) as { bin?: unknown };
    const names = typeof bin === 'object' && bin !== null ? Object.keys(bin) : [];
    const [only = own] = names;
    return names.length === 1 && /^[\w.-]+$/.test(only) ? only : own;
  } catch {
    return own;
  }
}

async function smallFile(folder: Folder, name: string): Promise<string> {
  const file = await folder.read(name);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MANIFEST_BYTES), 0, MANIFEST_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
