import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gate } from '../../../domain/queue.ts';
import { removeFolder } from '../../../folders/remove.ts';
import type { ConfinedCommand } from '../../../toolrunner/index.ts';
import { measureSize } from '../../size-watch.ts';
import { findProgram, InstallFailed, type InstallPorts, install } from './install.ts';
import type { PackageLaunch } from './launch.ts';

interface CacheOptions extends Omit<InstallPorts, 'python' | 'timeout_ms'> {
  /** The folder of the packages. */
  folder: string;
  interpreter: { executable: string; version: string } | null;
  /** The addresses of the registries; undefined: the public ones. */
  registries: Record<PackageLaunch['registry'], string | undefined>;
  /** The size limit of all packages together. */
  total_bytes: number;
  /** The time limit of one installation. */
  timeout_ms?: number;
  /** Waits until no other process of this machine has the lock; resolves with its release. */
  lock(file: string): Promise<() => Promise<void>>;
}

export interface McpPackages {
  /**
   * Returns the program of a package, after installing it if needed. `env` is the server's: its own registry is used. Throws
   * `InstallFailed`, also if the package is not installed within `patience_ms`; the installation then continues. `onInstall` is called if there is
   * something to install.
   */
  program(
    launch: PackageLaunch,
    env: Record<string, string>,
    options?: { patience_ms?: number | undefined; onInstall?: () => void },
  ): Promise<Pick<ConfinedCommand, 'own_paths'> & { command: string }>;
}

interface InstalledPackage {
  registry: PackageLaunch['registry'];
  specs: string[];
  /** The package's directory, relative to the folder of the cache. */
  directory: string;
  installed_at: string;
  bytes: number;
}

const TIMEOUT_MS = 5 * 60_000;
const AT_ONCE = 2;
const KEY_CHARACTERS = 32;
const MIB = 1024 * 1024;
/** The variables by which a server names a registry, separate from the default. */
const REGISTRY_VARIABLES = {
  npm: ['npm_config_registry', 'NPM_CONFIG_REGISTRY'],
  pypi: ['UV_DEFAULT_INDEX', 'UV_INDEX_URL', 'PIP_INDEX_URL'],
};

/**
 * Manages packages of MCP servers; each is installed only once for everybody. Callers wait for a package that is being
 * installed.
 */
export function createMcpPackages(options: CacheOptions): McpPackages {
  const { folder, interpreter, registries, total_bytes, lock } = options;
  const timeout_ms = options.timeout_ms ?? TIMEOUT_MS;
  const ports: InstallPorts = { ...options, timeout_ms, python: interpreter?.executable };
  const turns = gate(AT_ONCE);
  const installing = new Map<string, Promise<InstalledPackage>>();

  async function ensureInstalled(
    launch: PackageLaunch,
    address: string | undefined,
    onInstall: () => void,
  ): Promise<InstalledPackage> {
    const { registry, specs } = launch;
    const key = hashKey([registry, specs, address, process.arch, registry === 'pypi' && interpreter]);
    const manifest = await findManifest(folder, key);
    if (manifest) return manifest;
    onInstall();
    const started = installing.get(key) ?? installOnce(key, { registry, specs, address }).finally(() => installing.delete(key));
    installing.set(key, started);
    return started;
  }

  async function installOnce(key: string, request: PackageRequest): Promise<InstalledPackage> {
    const leave = await turns.enter(new AbortController().signal);
    try {
      await mkdir(folder, { recursive: true, mode: 0o711 });
      const release = await lock(join(folder, `${key}.lock`));
      try {
        return (await findManifest(folder, key)) ?? (await installNow(key, request));
      } finally {
        await release();
      }
    } finally {
      leave();
    }
  }

  async function installNow(key: string, { registry, specs, address }: PackageRequest): Promise<InstalledPackage> {
    const used_bytes = (await listInstalledPackages(folder)).reduce((sum, { bytes }) => sum + bytes, 0);
    if (used_bytes >= total_bytes) throw new InstallFailed(specs, describeFull(total_bytes));
    const directory = `${key}-${randomUUID()}`;
    const dir = join(await realpath(folder), directory);
    await mkdir(dir, { mode: 0o755 });
    try {
      const max_bytes = Math.min(ports.max_bytes, total_bytes - used_bytes);
      await install({ registry, specs, dir, address }, { ...ports, max_bytes });
      const { bytes, fault } = await measureSize(dir, { bytes: max_bytes });
      if (fault) throw new InstallFailed(specs, fault);
      const manifest = { registry, specs, directory, installed_at: new Date().toISOString(), bytes };
      if (await writeOnce(folder, key, manifest)) return manifest;
      await removeFolder(dir);
      return (await findManifest(folder, key)) as InstalledPackage;
    } catch (error) {
      await removeFolder(dir);
      throw error;
    }
  }

  return {
    async program(launch, env, { patience_ms, onInstall = () => {} } = {}) {
      const own = REGISTRY_VARIABLES[launch.registry].map((name) => env[name]).find(Boolean);
      const ready = ensureInstalled(launch, own ?? registries[launch.registry], onInstall);
      const { directory } = await (patience_ms === undefined ? ready : withTimeLimit(ready, launch.specs, patience_ms));
      const dir = join(await realpath(folder), directory);
      return { command: await findProgram(dir, launch), own_paths: [{ path: dir, writable: false }] };
    },
  };
}

type PackageRequest = Pick<PackageLaunch, 'registry' | 'specs'> & { address: string | undefined };

const describeFull = (bytes: number) =>
  `the packages of MCP servers may take ${Math.floor(bytes / MIB)} MiB together (MCP_PACKAGES_MB), and do; clear them with: perdura mcp-packages clear`;

const hashKey = (parts: unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, KEY_CHARACTERS);

async function withTimeLimit<T>(work: Promise<T>, specs: string[], patience_ms: number): Promise<T> {
  const timeout_error = new InstallFailed(specs, 'it is still being installed; try again in a minute');
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(timeout_error), patience_ms);
  work.catch(() => {});
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

const manifestFile = (folder: string, key: string) => join(folder, `${key}.json`);

/** Returns the manifest of a package; only complete installations have one. */
async function findManifest(folder: string, key: string): Promise<InstalledPackage | null> {
  const text = await readFile(manifestFile(folder, key), 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as InstalledPackage);
}

/**
 * Writes the whole manifest, unless there is one: with a shared folder, another machine may have been faster. Returns false then.
 */
async function writeOnce(folder: string, key: string, manifest: InstalledPackage): Promise<boolean> {
  // The draft is next to the package and not in it, because the package's scripts could have put a link there.
  const draft = join(folder, `${manifest.directory}.draft`);
  await writeFile(draft, JSON.stringify(manifest));
  try {
    await link(draft, manifestFile(folder, key));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft);
  }
}

/** Lists all installed packages, oldest first. */
export async function listInstalledPackages(folder: string): Promise<InstalledPackage[]> {
  const names = await readdir(folder).catch(() => []);
  const keys = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
  const manifests = await Promise.all(keys.map((key) => findManifest(folder, key)));
  return manifests.filter((it) => it !== null).sort((a, b) => a.installed_at.localeCompare(b.installed_at));
}

/**
 * Removes all packages, or those with this specifier, and returns them; running servers lose the files that they have not loaded
 * yet. Removing all includes unfinished installations, even those in progress.
 */
export async function clearPackages(folder: string, spec?: string): Promise<InstalledPackage[]> {
  const packages = (await listInstalledPackages(folder)).filter(({ specs }) => spec === undefined || specs.includes(spec));
  for (const { directory } of packages) {
    // Without its manifest, a package is never started again.
    await rm(manifestFile(folder, directory.slice(0, KEY_CHARACTERS)), { force: true });
    await removeFolder(join(folder, directory));
  }
  if (spec === undefined) await removeFolder(folder);
  return packages;
}
