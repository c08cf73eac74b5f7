import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { egressRules } from '../../src/egress/rules.ts';
import { checkouts } from '../../src/tools/checkout.ts';
import { startGitServer } from '../support/peers/git-server.ts';

const SECRET = 'hunter2-canary-of-the-repository';
const PATH = process.env.PATH!;

let server: Awaited<ReturnType<typeof startGitServer>>;
beforeAll(async () => {
  server = await startGitServer({ token: SECRET });
});
afterAll(() => server?.stop());

let into: string;
beforeEach(() => {
  into = mkdtempSync(join(tmpdir(), 'perdura-checkout-'));
  return () => rmSync(into, { recursive: true, force: true });
});

const file = (content: string) => ({ mode: '100644', type: 'blob', id: server.blob(content) });

it('is shallow, and leaves no token behind', async () => {
  const checkout = checkouts({ rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file });
  const { commit } = await checkout({ url: server.url, branch: null, token: SECRET, into }, new AbortController().signal);
  expect(commit).toBe(server.head);
  expect(execFileSync('git', ['-C', into, 'rev-list', '--count', 'HEAD']).toString().trim()).toBe('1');
  expect(readFileSync(join(into, '.git', 'config'), 'utf8')).not.toContain(SECRET);
  expect(server.asked.every(({ url }) => !url.includes(SECRET))).toBe(true);
});

it('takes no address with credentials in it, and no other protocol, whatever was saved', async () => {
  const checkout = checkouts({ rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file });
  const { host, pathname } = new URL(server.url);
  for (const url of [`https://x-access-token:${SECRET}@${host}${pathname}`, `http://${host}${pathname}`])
    await expect(checkout({ url, branch: null, token: null, into }, new AbortController().signal)).rejects.toThrow(
      'must be an https URL without credentials',
    );
});

it('does not follow a redirect to an unchecked address', async () => {
  const elsewhere = await startGitServer();
  const leading = await startGitServer({ redirects_to: new URL(elsewhere.url).origin });
  try {
    const certificates = [leading, elsewhere].map(({ ca_file }) => readFileSync(ca_file, 'utf8'));
    const ca_file = join(into, '..', `authorities-${Date.now()}.pem`);
    writeFileSync(ca_file, certificates.join('\n'));
    const checkout = checkouts({ rules: egressRules(['127.0.0.1']), path: PATH, ca_file });
    const order = { url: leading.url, branch: null, token: null, into };
    await expect(checkout(order, new AbortController().signal)).rejects.toThrow();
    expect([leading.asked.length > 0, elsewhere.asked]).toEqual([true, []]);
    rmSync(ca_file);
  } finally {
    await Promise.all([leading.stop(), elsewhere.stop()]);
  }
});

it('runs nothing that the repository brings: no hook, filter, submodule or large-file driver', async () => {
  const ran = join(into, '..', `ran-${Date.now()}`);
  const script = `#!/bin/sh\ntouch ${ran}\n`;
  const hooks = server.tree([{ ...file(script), mode: '100755', name: 'post-checkout' }]);
  const modules = `[submodule "m"]\n\tpath = m\n\turl = ${server.url}\n\tupdate = !touch ${ran}\n`;
  server.branch(
    'odd',
    server.tree([
      { ...file('* filter=evil diff=evil merge=evil\n'), name: '.gitattributes' },
      { ...file(modules), name: '.gitmodules' },
      { ...file(`[filter "evil"]\n\tsmudge = touch ${ran}\n`), name: '.gitconfig' },
      { mode: '120000', type: 'blob', id: server.blob('/etc/passwd'), name: 'away' },
      { mode: '040000', type: 'tree', id: hooks, name: 'hooks' },
      { mode: '160000', type: 'commit', id: server.head, name: 'm' },
    ]),
  );
  const checkout = checkouts({ rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file });
  await checkout({ url: server.url, branch: 'odd', token: SECRET, into }, new AbortController().signal);
  expect(existsSync(ran)).toBe(false);
  expect(readdirSync(into).sort()).toEqual(['.git', '.gitattributes', '.gitconfig', '.gitmodules', 'away', 'hooks', 'm']);
  expect(readdirSync(join(into, 'm'))).toEqual([]);
  expect(existsSync(join(into, '.git', 'hooks'))).toBe(false);
  expect(lstatSync(join(into, 'away')).isSymbolicLink()).toBe(true);
});

it('takes the branch that is asked for, up to each limit', async () => {
  const size = 300_000;
  const entries = ['one', 'two', 'three'].map((name) => ({ ...file(`${name}${'x'.repeat(size - name.length)}`), name }));
  server.branch('three', server.tree(entries));
  const checkOut = (limits: object, branch: string | null = 'three') => {
    rmSync(into, { recursive: true });
    mkdirSync(into);
    const checkout = checkouts({ rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file, ...limits });
    const order = { url: server.url, branch, token: SECRET, into };
    return checkout(order, new AbortController().signal).then(
      () => readdirSync(into).sort().join(' '),
      (error: Error) => error.message.replace('The repository could not be checked out: ', ''),
    );
  };
  const whole = '.git one three two';
  expect(await checkOut({}, null)).toBe('.git README.md');
  expect(await checkOut({ max_files: 3 })).toBe(whole);
  expect(await checkOut({ max_files: 2 })).toBe('it has more than 2 files and directories (REPO_MAX_FILES)');
  expect(await checkOut({ max_file_bytes: size })).toBe(whole);
  expect(await checkOut({ max_file_bytes: size - 1 })).toBe('one is larger than 299999 bytes');
  // The whole is also measured on the disk, so it has no exact limit.
  expect(await checkOut({ max_bytes: 3 * size - 1 })).toMatch(/^it is larger than 899999 bytes/);
});
