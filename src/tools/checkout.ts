import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { asLack } from '../domain/outages.ts';
import { redactor } from '../domain/redaction.ts';
import { resolveAllowedAddresses } from '../egress/dial.ts';
import type { EgressRules } from '../egress/rules.ts';
import { git } from './git-process.ts';

export interface CheckoutOrder {
  url: string;
  branch: string | null;
  /** The access token for the repository's host; null if none is needed. */
  token: string | null;
  /** An existing, empty directory. */
  into: string;
}

/** Checks out a repository. If that fails, throws a sentence that does not contain the token. */
type Checkout = (order: CheckoutOrder, signal: AbortSignal) => Promise<{ commit: string }>;

interface CheckoutLimits {
  timeout_ms?: number;
  /** The size limit of everything together, including the repository's own data. */
  max_bytes?: number;
  max_file_bytes?: number;
  /** The limit for the number of files, including directories. */
  max_files?: number;
}

interface CheckoutOptions extends CheckoutLimits {
  rules: EgressRules;
  /** The directories in which programs are searched, as in PATH. */
  path: string;
  /** The file with the certificates of a private authority. */
  ca_file?: string | undefined;
}

const TIMEOUT_MS = 120_000;
const MAX_BYTES = 1024 ** 3;
const MAX_FILE_BYTES = 100 * 1024 ** 2;
const MAX_FILES = 50_000;
const MOST_LEVELS = 64;
const SHOWN_CHARACTERS = 200;
const HTTPS_PORT = 443;

/** The helper reads the token from its environment, so it never appears in an argument, a URL or a file. */
const CREDENTIALS = '!f() { test "$1" = get && echo username=x-access-token && echo "password=$PERDURA_GIT_TOKEN"; }; f';

/** Creates shallow checkouts by git, over https only, from addresses that the egress rules allow. */
export function checkouts({ rules, path, ca_file, ...limited }: CheckoutOptions): Checkout {
  const { timeout_ms = TIMEOUT_MS, max_bytes = MAX_BYTES, max_file_bytes = MAX_FILE_BYTES, max_files = MAX_FILES } = limited;
  const read = treeJudge({ timeout_ms, max_bytes, max_file_bytes, max_files });
  return async ({ url, branch, token, into }, signal) => {
    const { protocol, hostname, port, username, password } = new URL(url);
    if (protocol !== 'https:' || username || password) throw new Error('The repository must be an https URL without credentials');
    const addresses = await resolveAllowedAddresses({ hostname, port: Number(port) || HTTPS_PORT }, rules);
    // git's HTTP client tries these addresses in order.
    const allowed_addresses = addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
    const pinned_host = `${hostname}:${port || HTTPS_PORT}:${allowed_addresses.join(',')}`;
    const home = await mkdtemp(join(tmpdir(), 'perdura-git-')).catch((error: unknown) => {
      throw asLack(error, 'temporary files (TMPDIR)');
    });
    const limits = { directory: into, timeout_ms, max_bytes, signal };
    const env = { ...gitEnv({ path, pinned_host, token, ca_file }), HOME: home };
    try {
      const branch_args = branch ? ['--branch', branch] : [];
      const what = ['--depth=1', '--single-branch', '--no-tags', '--no-checkout', '--template='];
      await git(['clone', '--quiet', ...what, ...branch_args, '--', url, into], { env, limits });
      await git(['-C', into, 'ls-tree', '-r', '-t', '-l', '-z', 'HEAD'], { env, limits, read });
      await git(['-C', into, 'checkout', '--quiet', '--force'], { env, limits });
      return { commit: (await git(['-C', into, 'rev-parse', 'HEAD'], { env, limits })).trim() };
    } catch (error) {
      throw token ? redactor([token]).error(error) : error;
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  };
}

interface GitSetting {
  path: string;
  pinned_host: string;
  token: string | null;
  ca_file: string | undefined;
}

/** Builds git's environment. Of the service's environment and the machine's settings, git receives only PATH. */
function gitEnv({ path, pinned_host, token, ca_file }: GitSetting): Record<string, string> {
  const settings = [
    ['http.curloptResolve', pinned_host],
    // The target of a redirect has not been checked.
    ['http.followRedirects', 'false'],
    ['core.hooksPath', '/dev/null'],
    // The pack is kept as it arrived: its size does not bound the number of objects.
    ['fetch.unpackLimit', '1'],
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
    // A fixed language makes the system's messages about failed calls recognisable.
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_ALLOW_PROTOCOL: 'https',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(numbered),
    ...(token ? { PERDURA_GIT_TOKEN: token } : {}),
  };
}

/** Ends git at the first entry beyond a limit: a small pack can expand to any number of files. */
function treeJudge({ max_files, max_file_bytes, max_bytes }: Required<CheckoutLimits>) {
  return async (output: Readable): Promise<void> => {
    let [entries, bytes, rest] = [0, 0, ''];
    for await (const chunk of output.setEncoding('utf8')) {
      const records = `${rest}${chunk}`.split('\0');
      rest = records.pop()!;
      for (const record of records) {
        const [facts = '', path = ''] = record.split('\t');
        const size = Number(facts.trim().split(/\s+/).at(-1)) || 0;
        entries += 1;
        bytes += size;
        const shortPath = path.slice(0, SHOWN_CHARACTERS);
        if (entries > max_files) throw new Error(`it has more than ${max_files} files and directories (REPO_MAX_FILES)`);
        if (path.split('/').length > MOST_LEVELS) throw new Error(`${shortPath} lies more than ${MOST_LEVELS} levels deep`);
        if (size > max_file_bytes) throw new Error(`${shortPath} is larger than ${max_file_bytes} bytes`);
        if (bytes > max_bytes) throw new Error(`it is larger than ${max_bytes} bytes (REPO_MAX_MB)`);
      }
    }
  };
}
