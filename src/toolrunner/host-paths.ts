import { lstat, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';

/** A path of the host that a command may see, at the same place inside its sandbox. */
export interface HostPath {
  path: string;
  writable?: boolean;
}

/** The refusal of a path. The message is for users: it names the path and the allowed alternatives. */
class PathRefused extends Error {}

interface HostPathRules {
  /** Returns the path in normal form, without a symbolic link on the way. Throws `PathRefused`. */
  judge(host_path: HostPath, options?: { must_exist?: boolean }): Promise<Required<HostPath>>;
}

interface RuleParts {
  /** The operator's allowed absolute paths, with `:rw` at the end if commands may write there. */
  allow: readonly string[];
  /** The paths of Perdura's own data, which are never given, even if they are allowed. */
  closed: readonly string[];
  /** The paths of Perdura's code and the tools' interpreter, which are never writable. */
  unwritable: readonly string[];
  /** The table of what is mounted. */
  mounts?: string;
}

/** System paths. The sandbox has its own version of each, or already shows it to every command. */
const SYSTEM = [
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/proc',
  '/run',
  '/sbin',
  '/sys',
  '/usr',
  ...['cache', 'lib', 'lock', 'log', 'mail', 'run', 'spool', 'tmp'].map((name) => `/var/${name}`),
  '/workspace',
  '/lost+found',
];
/** File systems that are views into the kernel, wherever they are mounted. */
const KERNEL_FILE_SYSTEMS = new Set(
  'proc sysfs devtmpfs devpts cgroup cgroup2 securityfs debugfs tracefs bpf configfs pstore efivarfs mqueue binfmt_misc nsfs fusectl rpc_pipefs'.split(
    ' ',
  ),
);

/** Parses `/srv/data` and `/srv/data:rw`. */
export const parseHostPath = (text: string): Required<HostPath> =>
  text.endsWith(':rw') ? { path: text.slice(0, -':rw'.length), writable: true } : { path: text, writable: false };

/** Creates the rules for the host paths that commands may be given. Throws if an allowed path can never be given. */
export async function createHostPathRules({
  allow,
  closed,
  unwritable,
  mounts = '/proc/self/mountinfo',
}: RuleParts): Promise<HostPathRules> {
  const never = [...SYSTEM, ...(await Promise.all(closed.map(resolveLinks)))];
  const unwritable_paths = await Promise.all(unwritable.map(resolveLinks));
  const allowed_paths = await Promise.all(
    allow.map(parseHostPath).map(async (it) => ({ ...it, path: await resolveLinks(it.path) })),
  );
  for (const { path } of allowed_paths) {
    const inside = never.find((place) => isWithin(path, place));
    if (inside) throw new Error(`MCP_PATHS: ${path} lies in ${inside}, which no MCP server may be given`);
  }
  const offer =
    allowed_paths.length > 0
      ? `MCP_PATHS allows ${allowed_paths.map(formatHostPath).join(', ')}`
      : 'MCP_PATHS allows no path here';

  return {
    async judge({ path: requested_path, writable = false }, { must_exist = false } = {}) {
      const refuse = (reason: string) =>
        new PathRefused(`The path ${requested_path}${writable ? ':rw' : ''} cannot be given: ${reason}. ${offer}`);
      if (!isAbsolute(requested_path) || requested_path.includes('\0') || requested_path.split(sep).includes('..'))
        throw refuse('a path is absolute and without ".."');
      const path = resolve(requested_path);
      const real = await resolveLinks(path);
      for (const place of [path, real]) {
        const overlap =
          never.find((it) => overlaps(place, it)) ?? (writable ? unwritable_paths.find((it) => overlaps(place, it)) : undefined);
        if (overlap) throw refuse(`it is, contains or lies in ${overlap}`);
      }
      if (!allowed_paths.some((it) => isWithin(real, it.path) && (it.writable || !writable))) throw refuse('it is not allowed');
      if (real !== path) throw refuse(`it is a symbolic link to ${real}; name that instead`);
      const kernel = (await listKernelMounts(mounts)).find((place) => overlaps(real, place));
      if (kernel) throw refuse(`a view into the kernel is mounted at ${kernel}`);
      const stats = await lstat(real).catch(() => null);
      if (!stats && must_exist) throw refuse('it does not exist');
      if (stats && !stats.isDirectory() && !stats.isFile()) throw refuse('it is neither a directory nor a file');
      return { path, writable };
    },
  };
}

const formatHostPath = ({ path, writable }: Required<HostPath>) => `${path} (${writable ? 'read and write' : 'read'})`;
const isWithin = (path: string, place: string): boolean => path === place || place === '/' || path.startsWith(`${place}/`);
const overlaps = (path: string, place: string): boolean => isWithin(path, place) || isWithin(place, path);

/** Returns the path with its symbolic links resolved, as far as it exists. */
async function resolveLinks(path: string): Promise<string> {
  const normal = resolve(path);
  try {
    return await realpath(normal);
  } catch {
    return join(await resolveLinks(dirname(normal)), basename(normal));
  }
}

async function listKernelMounts(mounts: string): Promise<string[]> {
  const table = await readFile(mounts, 'utf8').catch(() => '');
  return table.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const place = before.split(' ')[4] ?? '';
    const unescaped = place.replaceAll(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
    return place && KERNEL_FILE_SYSTEMS.has(after.split(' ')[0]!) ? [unescaped] : [];
  });
}
