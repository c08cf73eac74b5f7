import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type EgressRules, resolveEgress } from '../toolrunner/egress-rules.ts';

export interface CheckoutOrder {
  url: string;
  branch: string | null;
  /** Access token of the repository's host; null where none is needed. */
  token: string | null;
  /** An existing, empty directory. */
  into: string;
}

/** Checks a repository out. Throws a sentence, without the token in it, when that cannot be done. */
export type Checkout = (order: CheckoutOrder, signal: AbortSignal) => Promise<{ commit: string }>;

interface CheckoutOptions {
  rules: EgressRules;
  /** Where programs are found. */
  path: string;
  timeout_ms?: number;
  max_bytes?: number;
  /** Certificates of a private authority, as a file. */
  ca_file?: string | undefined;
}

const TIMEOUT_MS = 120_000;
const MAX_BYTES = 1024 ** 3;
const WATCH_MS = 500;
const HTTPS_PORT = 443;

/** The helper reads the token from its environment, so it is in no argument, no URL and no file. */
const CREDENTIALS = '!f() { test "$1" = get && echo username=x-access-token && echo "password=$PERDURA_GIT_TOKEN"; }; f';

/** Shallow checkouts by git, over https only, from the address that the egress rules have judged. */
export function checkouts({ rules, path, timeout_ms = TIMEOUT_MS, max_bytes = MAX_BYTES, ca_file }: CheckoutOptions): Checkout {
  return async ({ url, branch, token, into }, signal) => {
    const { protocol, hostname, port, username, password } = new URL(url);
    if (protocol !== 'https:' || username || password)
      throw new Error('A repository is named by an https URL without credentials');
    const address = await resolveEgress({ hostname, port: Number(port) || HTTPS_PORT }, rules);
    const pinned = `${hostname}:${port || HTTPS_PORT}:${address.includes(':') ? `[${address}]` : address}`;
    const home = await mkdtemp(join(tmpdir(), 'perdura-git-'));
    const limits = { directory: into, timeout_ms, max_bytes, signal };
    const env = { ...gitEnv({ path, pinned, token, ca_file }), HOME: home };
    try {
      const named = branch ? ['--branch', branch] : [];
      const clone = ['clone', '--quiet', '--depth=1', '--single-branch', '--no-tags', ...named, '--', url, into];
      await git(clone, env, limits);
      return { commit: (await git(['-C', into, 'rev-parse', 'HEAD'], env, limits)).trim() };
    } catch (error) {
      throw new Error(token ? (error as Error).message.replaceAll(token, '***') : (error as Error).message);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  };
}

interface GitSetting {
  path: string;
  pinned: string;
  token: string | null;
  ca_file: string | undefined;
}

/** Nothing of the service's environment or of the machine's settings reaches git, but where programs are. */
function gitEnv({ path, pinned, token, ca_file }: GitSetting): Record<string, string> {
  const settings = [
    ['http.curloptResolve', pinned],
    // Where it would lead has not been judged.
    ['http.followRedirects', 'false'],
    ['core.hooksPath', '/dev/null'],
    ['credential.helper', ''],
    ...(token ? [['credential.helper', CREDENTIALS]] : []),
    ...(ca_file ? [['http.sslCAInfo', ca_file]] : []),
  ];
  const numbered = settings.flatMap(([key = '', value = ''], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    PATH: path,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: 'https',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(numbered),
    ...(token ? { PERDURA_GIT_TOKEN: token } : {}),
  };
}

interface Limits {
  directory: string;
  timeout_ms: number;
  max_bytes: number;
  signal: AbortSignal;
}

async function git(
  args: string[],
  env: Record<string, string>,
  { directory, timeout_ms, max_bytes, signal }: Limits,
): Promise<string> {
  signal.throwIfAborted();
  const child = spawn('git', args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let stopped = '';
  const stop = (reason: string) => {
    stopped ||= reason;
    killGroup(child.pid);
  };
  const timer = setTimeout(() => stop(`it took longer than ${timeout_ms / 1000} s`), timeout_ms);
  const watch = setInterval(async () => {
    if ((await bytesIn(directory)) > max_bytes) stop(`it is larger than ${max_bytes} bytes`);
  }, WATCH_MS);
  const abort = () => stop('it was broken off');
  signal.addEventListener('abort', abort, { once: true });
  try {
    const failed = once(child, 'error').then(([error]) => Promise.reject(error));
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    const [out, err, [code]] = await Promise.race([ended, failed]);
    signal.throwIfAborted();
    if (stopped) throw new Error(`The repository could not be checked out: ${stopped}`);
    if (code !== 0) throw new Error(`The repository could not be checked out: ${lastLineOf(err)}`);
    return out;
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    signal.removeEventListener('abort', abort);
  }
}

const lastLineOf = (output: string) =>
  output
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^fatal: /, '') || 'git failed';

async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** The group, because git works through helpers; usually it is gone already. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
