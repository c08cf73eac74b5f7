import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, CAN_UNSHARE, IS_ROOT, MAIN_TIERS, openBench, TIERS } from './support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
let dir: string;
const inDir = (name: string) => join(dir, name);
beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'perdura-host-paths-')));
  for (const name of ['data', 'out/inner', 'home/workspaces/other-run', 'elsewhere']) mkdirSync(inDir(name), { recursive: true });
  for (const name of ['.', 'home', 'home/workspaces']) chmodSync(inDir(name), 0o755);
  chmodSync(inDir('out/inner'), 0o777);
  writeFileSync(inDir('out/file.txt'), 'given');
  writeFileSync(inDir('elsewhere/secret.txt'), 'canary');
  symlinkSync(inDir('elsewhere'), inDir('data/away'));
});
afterAll(() => rmSync(dir, { recursive: true }));

describe.each(Object.entries(TIERS))('a command in the tier %s', (name, options) => {
  let bench: Bench;
  beforeAll(async () => {
    const workspaces = inDir('home/workspaces');
    bench = await openBench({ ...options, workspaces, host_paths: { allow: ['/:rw'], closed: [inDir('home')] } });
  });
  afterAll(() => bench.runner.close());

  it.each(['/etc', '/', '/proc', ROOT])('is not started with %s to write', async (path) => {
    const started = bench.runner.startConfined({ command: '/bin/true', paths: [{ path, writable: true }] });
    await expect(started).rejects.toThrow(`The path ${path}:rw cannot be given`);
    expect(await bench.runner.pathRefusal(`${path}:rw`)).toContain('cannot be given');
  });

  it("is not started with another run's workspace, or the runner's own directory", async () => {
    for (const path of [inDir('home/workspaces/other-run'), tmpdir()])
      await expect(bench.runner.startConfined({ command: '/bin/true', paths: [{ path }] })).rejects.toThrow(
        'it is, contains or lies in',
      );
  });

  it.skipIf(name === 'process')('sees a path within another one, each with its own rights', async () => {
    const paths = [{ path: inDir('out/inner'), writable: true }, { path: inDir('out') }];
    const script = `cd ${inDir('out')}; cat file.txt; mktemp -p inner >/dev/null && echo ' inner'; echo x > no && echo outer`;
    const running = await bench.runner.startConfined({ command: '/bin/sh', args: ['-c', script], paths });
    running.stdin.end();
    expect(await text(running.stdout)).toBe('given inner\n');
  });

  it.skipIf(name === 'process')('sees a path whose name only begins like another one', async () => {
    for (const folder of ['near', 'near-by']) {
      mkdirSync(inDir(folder), { recursive: true });
      writeFileSync(inDir(`${folder}/file.txt`), folder);
    }
    const paths = [{ path: inDir('near') }, { path: inDir('near-by') }];
    const script = `cat ${inDir('near/file.txt')} ${inDir('near-by/file.txt')}`;
    const running = await bench.runner.startConfined({ command: '/bin/sh', args: ['-c', script], paths });
    running.stdin.end();
    expect(await text(running.stdout)).toBe('nearnear-by');
  });
});

// Without its own mount namespace this would destroy the machine.
const ISOLATED = IS_ROOT && CAN_UNSHARE;
if (!ISOLATED) console.warn('No mount namespace can be made here: a bound /etc is NOT tested.');

/** In a mount namespace whose /etc is a copy in memory. */
function onOwnMachine(order: object): Record<string, unknown> {
  const copy = join(tmpdir(), `perdura-etc-${process.pid}`);
  const script = [
    `mkdir -p ${copy}`,
    `mount -t tmpfs tmpfs ${copy}`,
    `cp -a /etc ${copy}/etc`,
    `mount --bind ${copy}/etc /etc`,
    `test "$(stat -f -c %T /etc)" = tmpfs`,
    'exec "$0" "$@"',
  ].join(' && ');
  const program = fileURLToPath(new URL('./attacks/own-machine.ts', import.meta.url));
  const args = ['-m', '--propagation', 'private', 'sh', '-c', script, process.execPath, program, JSON.stringify(order)];
  try {
    return JSON.parse(execFileSync('unshare', args, { encoding: 'utf8' }));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

describe.runIf(ISOLATED)('a path that nothing has judged', () => {
  it.each(Object.keys(MAIN_TIERS))('is not written to while the sandbox is built, in the tier %s', (tier) => {
    const said = onOwnMachine({ tier, host_paths: [{ path: '/etc', writable: true }] });
    expect(said).toEqual({ tier, outcome: 'exit 0', etc_unchanged: true });
  });

  it.each(Object.keys(MAIN_TIERS))('is not followed when it has become a symbolic link, in the tier %s', (tier) => {
    const said = onOwnMachine({ tier, host_paths: [{ path: inDir('data/away'), writable: true }] });
    expect(said).toMatchObject({ tier, outcome: expect.stringContaining('has become a symbolic link'), etc_unchanged: true });
    const inner = onOwnMachine({ tier, host_paths: [{ path: inDir('data/away/secret.txt'), writable: true }] });
    expect(inner).toMatchObject({ outcome: expect.stringContaining('away has become a symbolic link') });
  });

  it.each(Object.keys(MAIN_TIERS))('is refused when it is not in normal form, in the tier %s', (tier) => {
    for (const path of ['/../..', '/srv/../etc', '/', 'etc'])
      expect(onOwnMachine({ tier, host_paths: [{ path, writable: true }] }), path).toMatchObject({
        outcome: expect.stringContaining('not in normal form'),
        etc_unchanged: true,
      });
  });
});

it.runIf(ISOLATED)('a path of the host is refused if a view into the kernel is mounted in it, or above it', () => {
  const rules = fileURLToPath(new URL('../../src/toolrunner/host-paths.ts', import.meta.url));
  const program = `
    const { createHostPathRules, parseHostPath } = await import(${JSON.stringify(rules)});
    const rules = await createHostPathRules({ allow: [${JSON.stringify(dir)}], closed: [], unwritable: [] });
    const say = (path) => rules.judge(parseHostPath(path)).then(() => 'given', ({ message }) => message);
    console.log(JSON.stringify(await Promise.all(process.argv.slice(-3).map(say))));`;
  mkdirSync(inDir('ker nel/inner'), { recursive: true });
  mkdirSync(inDir('plain'), { recursive: true });
  const mount = 'mount -t proc proc "$0" && exec "$@"';
  const paths = [inDir('ker nel/inner'), inDir('ker nel'), inDir('plain')];
  const node = [process.execPath, '--input-type=module', '-e', program, ...paths];
  const args = ['-m', '--propagation', 'private', 'sh', '-c', mount, inDir('ker nel/inner'), ...node];
  const refusal = expect.stringContaining(`a view into the kernel is mounted at ${inDir('ker nel/inner')}. MCP_PATHS allows`);
  expect(JSON.parse(execFileSync('unshare', args, { encoding: 'utf8' }))).toEqual([refusal, refusal, 'given']);
});
