import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { egressRules } from '../../src/egress/rules.ts';
import { startToolRunner } from '../../src/toolrunner/index.ts';
import { checkouts } from '../../src/tools/checkout.ts';
import { toWorkspacesPath } from '../../src/tools/workspaces.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startGitServer } from '../support/peers/git-server.ts';
import { asks, says } from '../support/peers/model-server.ts';

const SECRET = 'hunter2-canary-of-the-repository';
const PATH = process.env.PATH!;

let here: TestInstallation;
let server: Awaited<ReturnType<typeof startGitServer>>;
beforeAll(async () => {
  server = await startGitServer({ token: SECRET });
  here = await startTestInstallation({ env: { REPO_CA_FILE: server.ca_file } });
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'repo', value: SECRET }));
});
afterAll(async () => {
  await here?.stop();
  await server?.stop();
});

const LOOK = `
import os
def look() -> str:
    """Reads the repository."""
    folder = os.environ["PERDURA_WORKSPACE"]
    return open(os.path.join(folder, "README.md")).read() + open(os.path.join(folder, ".git", "config")).read()
`;
const directoryOf = (task_id: string) => join(toWorkspacesPath(here.setting.config), task_id);
const logs = async (workflow_id: string) => (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).logs as any[];

it('checks the repository out before the first step, hands it to tools, and deletes it after the run', async () => {
  const repo = { repo_url: server.url, repo_branch: 'main', repo_token_name: 'repo' };
  const id = await here.workflow({ tools: [LOOK], workflow: repo });
  here.model.script((response, request) => asks({ name: request.tools![0]!.function.name })(response, request), says('read'));
  const task_id = await here.prompt(id);
  const task = await here.ended(task_id);
  expect(task).toMatchObject({ status: 'completed', error: null });
  const shown = here.model.requests.at(-1)!.messages.at(-1)!.content!;
  expect(shown).toContain('Hello from the repository.');
  expect(shown).not.toContain(SECRET);
  expect(await logs(id)).toContainEqual(expect.objectContaining({ event: 'repo_synced', commit: server.head, branch: 'main' }));
  await expect.poll(() => existsSync(directoryOf(task_id))).toBe(false);
});

it('fails the run, clearly and before any model call, when it cannot be checked out', async () => {
  const before = here.model.requests.length;
  for (const repo of [
    { repo_url: server.url, repo_branch: 'no-such-branch', repo_token_name: 'repo' },
    { repo_url: server.url },
    { repo_url: 'https://169.254.169.254/repo.git' },
  ]) {
    const task_id = await here.prompt(await here.workflow({ workflow: repo }));
    const task = await here.ended(task_id);
    expect(task).toMatchObject({ status: 'failed', error_code: 'repository_failed' });
    expect(task.error).not.toContain(SECRET);
    await expect.poll(() => existsSync(directoryOf(task_id))).toBe(false);
  }
  expect(here.model.requests.length).toBe(before);
});

it('refuses other protocols and credentials in the URL', async () => {
  const id = await here.workflow();
  for (const repo_url of [
    'http://localhost/repo.git',
    'ssh://git@localhost/repo.git',
    'file:///etc',
    'https://me:secret@localhost/repo.git',
  ]) {
    const { status, body } = await here.alice.put(`/api/workflows/${id}`, { repo_url });
    expect([status, body.errors?.[0].path], repo_url).toEqual([422, 'repo_url']);
  }
  expect((await here.alice.put(`/api/workflows/${id}`, { repo_branch: '--upload-pack=x' })).status).toBe(422);
});

let into: string;
beforeEach(() => {
  into = mkdtempSync(join(tmpdir(), 'perdura-checkout-'));
  return () => rmSync(into, { recursive: true, force: true });
});

/** A tree of trees, each with ten of the next, and files at the bottom: 10 ** levels of them in a few hundred bytes. */
function bomb(levels: number, leaf: { mode: string; type: string; id: string }): string {
  let inner = leaf;
  for (let level = 0; level < levels; level += 1) {
    const entries = Array.from({ length: 10 }, (_, number) => ({ ...inner, name: `n${number}` }));
    inner = { mode: '040000', type: 'tree', id: server.tree(entries) };
  }
  return inner.id;
}
const file = (content: string) => ({ mode: '100644', type: 'blob', id: server.blob(content) });
const directory = (id: string) => ({ mode: '040000', type: 'tree', id });

it('stops at its limits of files, depth and size, before anything is written out', async () => {
  server.branch('bomb', bomb(5, file('x')));
  server.branch('empty-bomb', bomb(9, directory(server.tree([]))));
  let deep = server.tree([{ ...file('x'), name: 'f' }]);
  for (let level = 0; level < 100; level += 1) deep = server.tree([{ ...directory(deep), name: 'd' }]);
  server.branch('deep', deep);
  server.branch('large-file', server.tree([{ ...file('0'.repeat(3_000_000)), name: 'large' }]));
  server.branch('large', server.tree([1, 2, 3].map((number) => ({ ...file('0'.repeat(900_000)), name: `n${number}` }))));
  const options = { rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file };
  const limits = { max_bytes: 2_000_000, max_file_bytes: 1_000_000, max_files: 50_000 };
  for (const [branch, reason] of [
    ['bomb', 'more than 50000 files and directories (REPO_MAX_FILES)'],
    ['empty-bomb', 'more than 50000 files and directories (REPO_MAX_FILES)'],
    ['deep', 'more than 64 levels deep'],
    ['large-file', 'large is larger than 1000000 bytes'],
    ['large', 'larger than 2000000 bytes (REPO_MAX_MB)'],
  ] as const) {
    const order = { url: server.url, branch, token: SECRET, into };
    await expect(checkouts({ ...options, ...limits })(order, new AbortController().signal), branch).rejects.toThrow(reason);
    expect(readdirSync(into), branch).toEqual(['.git']);
    rmSync(into, { recursive: true });
    mkdirSync(into);
  }
});

it.each(['namespaces', 'landlock'] as const)('leaves a repository that git works in, in the tier %s', async (tier) => {
  const parent = join(into, 'workspaces');
  const workspace = join(parent, 'run');
  mkdirSync(workspace, { recursive: true });
  for (const path of [into, parent]) chmodSync(path, 0o711);
  const checkout = checkouts({ rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file });
  server.branch('linked', server.tree([{ mode: '120000', type: 'blob', id: server.blob('/etc/passwd'), name: 'away' }]));
  await checkout({ url: server.url, branch: 'linked', token: SECRET, into: workspace }, new AbortController().signal);
  const runner = await startToolRunner({ workspaces: parent, tier, python: '/usr/bin/python3' });
  if (runner.isolation === 'refused') {
    console.warn(`This machine has no tier ${tier}: git is NOT tested in it (${runner.isolation_reason})`);
    return runner.close();
  }
  const shell = async (script: string) => {
    const running = await runner.startConfined({ command: '/bin/bash', args: ['--norc', '-c', script], workspace });
    running.stdin.end();
    const [out, err] = await Promise.all([text(running.stdout), text(running.stderr)]);
    return { out, err, code: await running.exit };
  };
  expect(await shell('git status --short && git log --oneline | wc -l')).toEqual({ out: '1\n', err: '', code: 0 });
  const commit =
    'echo x > new && git add new && git -c user.name=T -c user.email=t@example.com commit -qm new && git status --short';
  expect(await shell(commit)).toEqual({ out: '', err: '', code: 0 });
  expect((await shell('cat away')).out).not.toContain('root:');
  await runner.close();
});

it('stops at its limits of time and size', async () => {
  const order = { url: server.url, branch: null, token: SECRET, into };
  const options = { rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file };
  const late = checkouts({ ...options, timeout_ms: 1 })(order, new AbortController().signal);
  await expect(late).rejects.toThrow('took longer than');
});
