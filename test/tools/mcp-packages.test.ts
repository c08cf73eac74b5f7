import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { waitForLock } from '../../src/embedded/lock-file.ts';
import { startToolRunner } from '../../src/toolrunner/index.ts';
import type { PythonToolRunner } from '../../src/toolrunner/python-tool-runner.ts';
import { resolveTarget } from '../../src/tools/mcp/config.ts';
import { connect } from '../../src/tools/mcp/connection.ts';
import { clearPackages, createMcpPackages, listInstalledPackages } from '../../src/tools/mcp/packages/cache.ts';
import { type PackageRegistry, startPackageRegistry } from '../support/peers/package-registry.ts';
import { STORM } from '../toolrunner/attacks/storm.ts';
import { openToken, SERVERS, serverOf } from './support.ts';

// The machine that runs the tests may be busy.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const MIB = 1024 * 1024;
let registry: PackageRegistry;
let runner: PythonToolRunner;
let home: string;

beforeAll(async () => {
  registry = await startPackageRegistry();
  runner = await startToolRunner({ egress_allow: [new URL(registry.url).host] });
  home = await mkdtemp(join(tmpdir(), 'perdura-packages-'));
});
afterAll(async () => {
  await runner?.close();
  registry?.close();
  await rm(home, { recursive: true, force: true });
});

type Options = Partial<Parameters<typeof createMcpPackages>[0]>;

/** A process with a cache in the folder. */
const cacheIn = (name: string, options: Options = {}) =>
  createMcpPackages({
    folder: join(home, name),
    startConfined: runner.startConfined,
    interpreter: runner.interpreter,
    registries: { npm: registry.url, pypi: `${registry.url}/simple` },
    max_bytes: 200 * MIB,
    total_bytes: 400 * MIB,
    lock: (file) => waitForLock(file, () => {}),
    ...options,
  });

async function open(
  line: string,
  packages: ReturnType<typeof createMcpPackages>,
  values: { network?: boolean; install_ms?: number; connect_ms?: number } = {},
) {
  const [command, ...args] = line.split(' ');
  const { install_ms, connect_ms, ...server } = values;
  const target = await resolveTarget(serverOf({ connection_config: { command, args }, ...server }), openToken);
  const ports = { startConfined: runner.startConfined, packages, schemaFaults: async () => [] };
  return connect(
    target,
    { ...ports, ...(install_ms !== undefined && { install_ms }), ...(connect_ms && { connect_ms }) } as never,
    'test',
  );
}

async function reached(line: string, packages: ReturnType<typeof createMcpPackages>): Promise<unknown> {
  const connection = await open(line, packages);
  try {
    const call = { tool: 'reach', arguments: { url: registry.url }, call_key: 'key', task_id: 'task' };
    return JSON.parse((await connection.call(call, new AbortController().signal)).content);
  } finally {
    await connection.close();
  }
}

const tarballs = (name: string) => registry.requests.filter((path) => path === `/${name}.tgz`).length;

describe('a server that npx starts', () => {
  it('changes nothing outside while it is installed, measured and removed', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'outside-'));
    await mkdir(join(outside, 'inner'));
    const files = ['private', 'inner/0'].map((name) => join(outside, name));
    for (const file of files) await writeFile(file, 'secret', { mode: 0o604 });
    const code = Buffer.from(STORM).toString('base64');
    const postinstall = `echo ${code} | base64 -d > storm.py; PERDURA_WORKSPACE=$PWD timeout 5 /usr/bin/python3 storm.py ${outside} || true`;
    registry.npm('stormy', `${SERVERS}/reach.mjs`, { postinstall });
    const folder = join(home, 'stormy');
    await expect(open('npx stormy', cacheIn('stormy')).then((it) => it.close())).resolves.toBeUndefined();
    expect(await clearPackages(folder)).toHaveLength(1);
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
    for (const file of files) {
      expect(await readFile(file, 'utf8')).toBe('secret');
      expect((await stat(file)).mode & 0o777).toBe(0o604);
    }
    await rm(outside, { recursive: true });
  });

  it('is installed once for all who start it, and runs without network from what it cannot change', async () => {
    registry.npm('once', `${SERVERS}/reach.mjs`);
    const [one, other] = [cacheIn('once'), cacheIn('once')];
    const answer = { args: ['--flag', 'a'], proxy: false, fetched: 'failed', written: 'failed' };
    const line = 'npx -y once@1.0.0 --flag a';
    expect(await Promise.all([reached(line, one), reached(line, one), reached(line, other)])).toEqual([answer, answer, answer]);
    const asked = registry.requests.length;
    expect(tarballs('once')).toBe(1);
    expect(await reached(line, cacheIn('once'))).toEqual(answer);
    expect(registry.requests).toHaveLength(asked);
    expect(await listInstalledPackages(join(home, 'once'))).toEqual([
      expect.objectContaining({ registry: 'npm', specs: ['once@1.0.0'], bytes: expect.any(Number) }),
    ]);
  });

  it('is installed again when its package was cleared', async () => {
    registry.npm('cleared', `${SERVERS}/reach.mjs`);
    const folder = join(home, 'cleared');
    await (await open('npx cleared', cacheIn('cleared'))).close();
    expect(await clearPackages(folder, 'another')).toEqual([]);
    expect(await clearPackages(folder, 'cleared')).toMatchObject([{ specs: ['cleared'] }]);
    expect(await listInstalledPackages(folder)).toEqual([]);
    await (await open('npx cleared', cacheIn('cleared'))).close();
    expect(tarballs('cleared')).toBe(2);
    expect(await clearPackages(folder)).toHaveLength(1);
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it.each([
    ['its scripts fail', 'echo broken-script >&2; exit 3', {}, /broken-script/],
    ['it takes too long', 'sleep 600', { timeout_ms: 12_000 }, /it took longer than 12 s/],
    [
      'it is too large',
      'head -c 60000000 /dev/zero > big; sleep 600',
      { max_bytes: 40 * MIB },
      /it is larger than 41943040 bytes/,
    ],
    [
      'nobody can measure it',
      `node -e "for (let n = 0; n < 200; n++) { fs.mkdirSync('d'.repeat(40)); process.chdir('d'.repeat(40)) }"`,
      {},
      /its size cannot be measured: .*… lies more than 128 levels deep/,
    ],
  ])('fails with a sentence, and keeps nothing, if %s', async (what, postinstall, options, reason) => {
    const name = what.replaceAll(' ', '-');
    registry.npm(name, `${SERVERS}/reach.mjs`, { postinstall });
    const failure = await open(`npx ${name}`, cacheIn(name, options)).catch((error: Error) => error.message);
    expect(failure).toMatch(reason);
    expect(failure).toContain(`mcp_install_failed: ${name} could not be installed`);
    expect((await readdir(join(home, name))).filter((entry) => !entry.includes('.lock.'))).toEqual([]);
    registry.npm(name, `${SERVERS}/reach.mjs`);
    await (await open(`npx ${name}`, cacheIn(name))).close();
  });

  it('is installed again if the process that installed it was killed', async () => {
    registry.npm('killed', `${SERVERS}/reach.mjs`);
    const folder = join(home, 'killed');
    await (await open('npx killed', cacheIn('killed'))).close();
    const manifests = (await readdir(folder)).filter((entry) => entry.endsWith('.json'));
    // It is written last.
    await rm(join(folder, manifests[0] as string));
    await (await open('npx killed', cacheIn('killed'))).close();
    expect(tarballs('killed')).toBe(2);
  });

  it('continues to be installed when a caller does not wait', async () => {
    registry.npm('patient', `${SERVERS}/reach.mjs`);
    const packages = cacheIn('patient');
    await expect(open('npx patient', packages, { install_ms: 1 })).rejects.toThrow('try again in a minute');
    await (await open('npx patient', packages)).close();
    expect(tarballs('patient')).toBe(1);
  });

  it('is refused when the packages fill their space', async () => {
    registry.npm('full', `${SERVERS}/reach.mjs`);
    await (await open('npx full', cacheIn('full'))).close();
    await expect(open('npx other', cacheIn('full', { total_bytes: 1 }))).rejects.toThrow('perdura mcp-packages clear');
  });

  it('is refused with a sentence if its arguments name no package of a registry', async () => {
    await expect(open('npx github:org/files', cacheIn('none'))).rejects.toThrow(
      'mcp_install_failed: the arguments of npx do not',
    );
  });
});

it('a server that uvx starts is installed once, in a separate environment', async () => {
  registry.wheel('reach', `${SERVERS}/reach.py`);
  const packages = cacheIn('python');
  expect(await reached('uvx reach@1.0 --flag', packages)).toEqual(['--flag']);
  const asked = registry.requests.length;
  expect(await reached('uvx reach@1.0 --other', packages)).toEqual(['--other']);
  expect(registry.requests).toHaveLength(asked);
});

it('the time to connect begins when the package is installed', async () => {
  let is_installed = false;
  const program = async () => {
    await wait(100);
    is_installed = true;
    return { command: '/bin/cat', own_paths: [] };
  };
  await expect(open('npx slow', { program }, { connect_ms: 1 })).rejects.toThrow(/did not answer within/);
  expect(is_installed).toBe(true);
});
