import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { workspacesOf } from '../../src/main/core.ts';
import { egressRules } from '../../src/toolrunner/egress-rules.ts';
import { checkouts } from '../../src/tools/checkout.ts';
import { startGitServer } from '../support/git-server.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/model-server.ts';

const SECRET = 'hunter2-canary-of-the-repository';
const PATH = process.env.PATH!;

let at: TestInstallation;
let server: Awaited<ReturnType<typeof startGitServer>>;
beforeAll(async () => {
  server = await startGitServer({ token: SECRET });
  at = await startTestInstallation({ env: { REPO_CA_FILE: server.ca_file } });
  await at.alice.ok(at.alice.post('/api/tokens', { name: 'repo', value: SECRET }));
});
afterAll(async () => {
  await at?.stop();
  await server?.stop();
});

const LOOK = `
import os
def look() -> str:
    """Reads the repository."""
    folder = os.environ["PERDURA_WORKSPACE"]
    return open(os.path.join(folder, "README.md")).read() + open(os.path.join(folder, ".git", "config")).read()
`;
const directoryOf = (task_id: string) => join(workspacesOf(at.setting.config), task_id);
const logs = async (workflow_id: string) => (await at.alice.ok(at.alice.get(`/api/workflows/${workflow_id}`))).logs as any[];

it('checks the repository out before the first step, hands it to tools, and deletes it after the run', async () => {
  const repo = { repo_url: server.url, repo_branch: 'main', repo_token_name: 'repo' };
  const id = await at.workflow({ tools: [LOOK], workflow: repo });
  at.model.script((response, request) => asks({ name: request.tools![0]!.function.name })(response, request), says('read'));
  const task_id = await at.prompt(id);
  const task = await at.ended(task_id);
  expect(task).toMatchObject({ status: 'completed', error: null });
  const shown = at.model.requests.at(-1)!.messages.at(-1)!.content!;
  expect(shown).toContain('Hello from the repository.');
  expect(shown).not.toContain(SECRET);
  expect(await logs(id)).toContainEqual(expect.objectContaining({ event: 'repo_synced', commit: server.head, branch: 'main' }));
  await expect.poll(() => existsSync(directoryOf(task_id))).toBe(false);
});

it('fails the run, clearly and before any model call, when it cannot be checked out', async () => {
  const before = at.model.requests.length;
  for (const repo of [
    { repo_url: server.url, repo_branch: 'no-such-branch', repo_token_name: 'repo' },
    { repo_url: server.url },
    { repo_url: 'https://169.254.169.254/repo.git' },
  ]) {
    const task_id = await at.prompt(await at.workflow({ workflow: repo }));
    const task = await at.ended(task_id);
    expect(task).toMatchObject({ status: 'failed', error_code: 'repository_failed' });
    expect(task.error).not.toContain(SECRET);
    await expect.poll(() => existsSync(directoryOf(task_id))).toBe(false);
  }
  expect(at.model.requests.length).toBe(before);
});

it('refuses other protocols and credentials in the URL', async () => {
  const id = await at.workflow();
  for (const repo_url of [
    'http://localhost/repo.git',
    'ssh://git@localhost/repo.git',
    'file:///etc',
    'https://me:secret@localhost/repo.git',
  ]) {
    const { status, body } = await at.alice.put(`/api/workflows/${id}`, { repo_url });
    expect([status, body.errors?.[0].path], repo_url).toEqual([422, 'repo_url']);
  }
  expect((await at.alice.put(`/api/workflows/${id}`, { repo_branch: '--upload-pack=x' })).status).toBe(422);
});

let into: string;
beforeEach(() => {
  into = mkdtempSync(join(tmpdir(), 'perdura-checkout-'));
  return () => rmSync(into, { recursive: true, force: true });
});

it('is shallow, and leaves no token behind', async () => {
  const checkout = checkouts({ rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file });
  const { commit } = await checkout({ url: server.url, branch: null, token: SECRET, into }, new AbortController().signal);
  expect(commit).toBe(server.head);
  expect(execFileSync('git', ['-C', into, 'rev-list', '--count', 'HEAD']).toString().trim()).toBe('1');
  expect(readFileSync(join(into, '.git', 'config'), 'utf8')).not.toContain(SECRET);
  expect(server.asked.every(({ url }) => !url.includes(SECRET))).toBe(true);
});

it('stops at its limits of time and size', async () => {
  const order = { url: server.url, branch: null, token: SECRET, into };
  const options = { rules: egressRules(['127.0.0.1']), path: PATH, ca_file: server.ca_file };
  const late = checkouts({ ...options, timeout_ms: 1 })(order, new AbortController().signal);
  await expect(late).rejects.toThrow('took longer than');
});
