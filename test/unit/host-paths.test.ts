import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { createHostPathRules, parseHostPath } from '../../src/toolrunner/host-paths.ts';

let dir: string;
const inDir = (name: string) => join(dir, name);
beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'perdura-host-paths-')));
  for (const name of ['data/inner', 'out', 'home/workspaces/other-run', 'elsewhere', 'elsewhere-too'])
    mkdirSync(inDir(name), { recursive: true });
  for (const name of ['.', 'home', 'home/workspaces']) chmodSync(inDir(name), 0o755);
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

  it('is refused if a view into the kernel is mounted in it or above it', async () => {
    const mounts = inDir('mounts');
    const mount = (place: string, type: string) =>
      `29 1 0:26 / ${place.replaceAll('/inner', '/in\\156er')} rw shared:7 - ${type} none rw`;
    writeFileSync(mounts, [mount(inDir('data/inner'), 'sysfs'), mount(inDir('out'), 'ext4'), ''].join('\n'));
    const rules = await createHostPathRules({ allow: [inDir('data'), inDir('out')], closed: [], unwritable: [], mounts });
    const reason = `a view into the kernel is mounted at ${inDir('data/inner')}`;
    for (const place of ['data', 'data/inner', 'data/inner/class'])
      await expect(rules.judge({ path: inDir(place) })).rejects.toThrow(reason);
    expect(await rules.judge({ path: inDir('out') })).toEqual({ path: inDir('out'), writable: false });
    expect(await rules.judge({ path: inDir('data/file.txt') })).toMatchObject({ path: inDir('data/file.txt') });
  });

  it('that can never be given is refused as a setting at the start', async () => {
    await expect(rulesOf([inDir('data'), '/etc/ssl'])).rejects.toThrow('MCP_PATHS: /etc/ssl lies in /etc');
    await expect(rulesOf([inDir('home/workspaces')])).rejects.toThrow(`lies in ${inDir('home')}`);
    expect(() => readConfig({ MCP_PATHS: 'data' })).toThrow('MCP_PATHS');
    expect(readConfig({}).MCP_PATHS).toEqual([]);
  });
});
