import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMcpPackages } from '../../src/tools/mcp/packages/cache.ts';
import { parsePackageLaunch } from '../../src/tools/mcp/packages/launch.ts';
import type { StartConfined } from '../../src/tools/mcp/stdio.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-package-cache-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Where each installation got its package from. */
let installed: (string | undefined)[];

/** Does what npm and pip do for the cache: leaves a program in the folder. */
const startConfined = (async ({ args, env }: { args: string[]; env: Record<string, string> }) => {
  const [, , dir = '', ...argv] = args;
  if (argv.includes('install')) {
    installed.push(env.npm_config_registry ?? env.PIP_INDEX_URL);
    for (const place of ['node_modules/.bin', 'env/bin']) {
      await mkdir(join(dir, place), { recursive: true });
      await writeFile(join(dir, place, 'files'), '');
    }
  }
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  return { stdin, stdout, stderr, exit: Promise.resolve(0) };
}) as unknown as StartConfined;

interface Installation {
  line: string;
  env: Record<string, string>;
  version: string;
  address: string | undefined;
}

const PLAIN: Installation = { line: 'npx files@1', env: {}, version: '3.12', address: 'https://one.example' };
const PYTHON: Installation = { ...PLAIN, line: 'uvx files==1' };

/** The program of a server in one folder, as a worker with these settings starts it. */
async function programOf(folder: string, { line, env, version, address }: Installation): Promise<string> {
  const packages = createMcpPackages({
    ...{ folder: join(home, folder), startConfined, max_bytes: 1e9, total_bytes: 1e9, lock: async () => async () => {} },
    interpreter: { executable: '/usr/bin/python3', version },
    registries: { npm: address, pypi: address },
  });
  const [command = '', ...args] = line.split(' ');
  return (await packages.program(parsePackageLaunch(command, args)!, env)).command;
}

describe('an installation of a package', () => {
  const launch = parsePackageLaunch('npx', ['files@7'])!;
  async function install(run: StartConfined) {
    const folder = await mkdtemp(join(home, 'one-'));
    let key = '';
    const lock = async (file: string) => {
      key = basename(file, '.lock');
      return async () => {};
    };
    const packages = createMcpPackages({
      ...{ folder, startConfined: run, max_bytes: 1e9, total_bytes: 1e9, lock, interpreter: undefined as never },
      registries: { npm: undefined, pypi: undefined },
    });
    return { program: () => packages.program(launch, {}), folder, key: () => key };
  }

  it('that another machine has completed meanwhile is that of the other machine', async () => {
    installed = [];
    const { program, folder, key } = await install(async (command, signal) => {
      const theirs = {
        registry: 'npm',
        specs: launch.specs,
        directory: 'theirs',
        installed_at: '2026-01-01T00:00:00Z',
        bytes: 7,
      };
      await mkdir(join(folder, 'theirs/node_modules/.bin'), { recursive: true });
      await writeFile(join(folder, 'theirs/node_modules/.bin/files'), '');
      await writeFile(join(folder, `${key()}.json`), JSON.stringify(theirs));
      return startConfined(command, signal);
    });
    expect((await program()).command).toBe(join(await realpath(folder), 'theirs/node_modules/.bin/files'));
    expect((await readdir(folder)).sort()).toEqual([`${key()}.json`, 'theirs']);
  });

  it.each<[string, StartConfined, string]>([
    [
      'whose command fails without a word',
      (async () => {
        const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
        return { stdin, stdout, stderr, exit: Promise.resolve(7) };
      }) as never,
      'npm ended with exit code 7',
    ],
    ['whose command cannot be started', () => Promise.reject(new Error('There is no sandbox')), 'There is no sandbox'],
  ])('%s is reported with its reason', async (_, run, reason) => {
    const { program, folder } = await install(run);
    await expect(program()).rejects.toThrow(reason);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a package of an MCP server is shared', () => {
  const OTHER = 'https://other.example';

  it.each<[string, Installation, Partial<Installation>]>([
    ['from another registry of the installation', PLAIN, { address: OTHER }],
    ['from the public registry', PLAIN, { address: undefined }],
    ['from the registry of npm', PLAIN, { env: { npm_config_registry: OTHER } }],
    ['from the registry of npm in capitals', PLAIN, { env: { NPM_CONFIG_REGISTRY: OTHER } }],
    ['from the registry of uv', PYTHON, { env: { UV_DEFAULT_INDEX: OTHER } }],
    ['from the registry of older uv', PYTHON, { env: { UV_INDEX_URL: OTHER } }],
    ['from the registry of pip', PYTHON, { env: { PIP_INDEX_URL: OTHER } }],
    ['of another version', PLAIN, { line: 'npx files@2' }],
    ['with another one', PYTHON, { line: 'uvx --from files==1 --with more files' }],
    ['of the same name for Python', PLAIN, { line: 'uvx files@1' }],
    ['for another version of Python', PYTHON, { version: '3.13' }],
  ])('not with one %s', async (what, first, other) => {
    installed = [];
    const second = { ...first, ...other };
    const programs: string[] = [];
    for (const one of [first, second, first, second]) programs.push(await programOf(what, one));
    expect(programs[0]).not.toBe(programs[1]);
    expect(programs.slice(2)).toEqual(programs.slice(0, 2));
    expect(installed).toEqual([first.address, Object.values(second.env)[0] ?? second.address]);
  });

  it.each<[string, Installation, Partial<Installation>]>([
    ['that names the registry which is the default', PLAIN, { env: { npm_config_registry: 'https://one.example' } }],
    ['that names a registry for the other kind of packages', PLAIN, { env: { PIP_INDEX_URL: OTHER } }],
    ['with other variables', PLAIN, { env: { SECRET: 'x' } }],
    ['with other arguments', PLAIN, { line: 'npx -y files@1 --flag' }],
    ['that needs no Python, of which there is another version', PLAIN, { version: '3.13' }],
  ])('with a server %s', async (what, first, other) => {
    installed = [];
    expect(await programOf(what, first)).toBe(await programOf(what, { ...first, ...other }));
    expect(installed).toEqual([first.address]);
  });
});
