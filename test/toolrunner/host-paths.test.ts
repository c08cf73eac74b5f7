import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { createHostPathRules, parseHostPath } from '../../src/toolrunner/host-paths.ts';
import { startToolRunner } from '../../src/toolrunner/index.ts';
import { type Bench, CAN_UNSHARE, IS_ROOT, MAIN_TIERS, openBench, TIERS } from './support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
let dir: string;
const inDir = (name: string) => join(dir, name);
beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'perdura-host-paths-')));
  for (const name of ['data/inner', 'out/inner', 'home/workspaces/other-run', 'elsewhere', 'elsewhere-too'])
    mkdirSync(inDir(name), { recursive: true });
  for (const name of ['.', 'home', 'home/workspaces']) chmodSync(inDir(name), 0o755);
  chmodSync(inDir('out/inner'), 0o777);
  writeFileSync(inDir('out/file.txt'), 'given');
  writeFileSync(inDir('data/file.txt'), 'given');
  writeFileSync(inDir('elsewhere/secret.txt'), 'canary');
  symlinkSync(inDir('elsewhere'), inDir('data/away'));
  symlinkSync('/etc', inDir('data/etc'));
  symlinkSync(inDir('data/inner'), inDir('data/near'));
});
afterAll(() => rmSync(dir, { recursive: true }));

const rulesOf = (allow: string[]) => createHostPathRules({ allow, closed: [inDir('home')], unwritable: [inDir('data/inner')] });
const judged = async (allow: string[], path: string) => {
  const rules = await rulesOf(allow);
  return rules.judge(parseHostPath(path), { must_exist: true }).then(
    (it) => it,
    (reason: Error) => reason.message,
  );
};

describe('a path of the host', () => {
  it('is given when the operator allows it, in normal form', async () => {
    expect(await judged([inDir('data')], inDir('data'))).toEqual({ path: inDir('data'), writable: false });
    expect(await judged([inDir('data')], `${dir}//data/./file.txt`)).toEqual({ path: inDir('data/file.txt'), writable: false });
    expect(await judged([`${inDir('out')}:rw`], `${inDir('out')}:rw`)).toEqual({ path: inDir('out'), writable: true });
    expect(await judged([`${inDir('out')}:rw`], inDir('out'))).toEqual({ path: inDir('out'), writable: false });
  });

  it('is refused if it is not allowed, and the error lists what is allowed', async () => {
    const allow = [inDir('data'), `${inDir('out')}:rw`];
    const offer = `MCP_PATHS allows ${inDir('data')} (read), ${inDir('out')} (read and write)`;
    for (const path of [inDir('elsewhere'), `${inDir('data')}:rw`, `${inDir('data')}x`, dir]) {
      const refusal = await judged(allow, path);
      expect(refusal, path).toContain(`The path ${path} cannot be given`);
      expect(refusal, path).toContain(offer);
    }
    expect(await judged([], inDir('data'))).toContain('MCP_PATHS allows no path here');
    expect(await judged([inDir('elsewhere')], `${inDir('elsewhere')}:rw`)).toContain('it is not allowed');
    expect(await judged([inDir('elsewhere')], inDir('elsewhere-too'))).toContain('it is not allowed');
  });

  it.each([
    ['without ".."', '/srv/../etc'],
    ['without ".."', '/../..'],
    ['absolute', 'data'],
    ['absolute', ''],
    ['/etc', '/etc:rw'],
    ['/etc', '//etc/./ssl'],
    ...[
      '/',
      '/usr',
      '/usr/local/share',
      '/proc/self',
      '/sys',
      '/dev/shm',
      '/run',
      '/run/docker.sock',
      '/var',
      '/var/run/docker.sock',
    ].map((path) => ['it is, contains or lies in', path]),
  ])('is refused with %s: %s, whatever is allowed', async (word, path) => {
    expect(await judged(['/:rw'], path)).toContain(word);
  });

  it("is refused when it is, contains or lies in Perdura's home", async () => {
    for (const path of [dir, inDir('home'), inDir('home/workspaces/other-run'), `${inDir('home')}:rw`])
      expect(await judged(['/:rw'], path), path).toContain(`it is, contains or lies in ${inDir('home')}`);
  });

  it("is read-only when it is, contains or lies in Perdura's code or the interpreter", async () => {
    expect(await judged(['/:rw'], inDir('data'))).toMatchObject({ writable: false });
    expect(await judged(['/:rw'], `${inDir('data')}:rw`)).toContain(`it is, contains or lies in ${inDir('data/inner')}`);
  });

  it('is refused when a symbolic link is on the way, and where it leads is named', async () => {
    expect(await judged([inDir('data')], inDir('data/away/secret.txt'))).toContain('it is not allowed');
    expect(await judged(['/:rw'], inDir('data/etc'))).toContain('lies in /etc');
    expect(await judged([inDir('data')], inDir('data/near'))).toContain(`it is a symbolic link to ${inDir('data/inner')}`);
    expect(await judged([inDir('data')], inDir('data/near/new'))).toContain(
      `it is a symbolic link to ${inDir('data/inner/new')}`,
    );
  });

  it('is refused when it is a socket, or is not there', async () => {
    const server = createServer().listen(inDir('data/door.sock'));
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await judged([inDir('data')], inDir('data/door.sock'))).toContain('neither a directory nor a file');
    server.close();
    expect(await judged([inDir('data')], inDir('data/none'))).toContain('does not exist');
  });

  it('that can never be given is refused as a setting at the start', async () => {
    await expect(startToolRunner({ host_paths: { allow: ['/etc/ssl'], closed: [] } })).rejects.toThrow(
      'MCP_PATHS: /etc/ssl lies in /etc',
    );
    expect(() => readConfig({ MCP_PATHS: 'data' })).toThrow('MCP_PATHS');
    expect(readConfig({}).MCP_PATHS).toEqual([]);
  });
});

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
