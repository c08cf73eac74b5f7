import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findOutage } from '../../src/domain/outages.ts';
import { egressRules } from '../../src/egress/rules.ts';
import { checkouts } from '../../src/tools/checkout.ts';
import { startTestInstallation } from '../support/installation.ts';
import { mountSmallDisk, NO_DISK } from '../support/machine/small-disk.ts';
import { startGitServer } from '../support/peers/git-server.ts';
import { asks, says } from '../support/peers/model-server.ts';

const PATH = process.env.PATH!;
const { signal } = new AbortController();
const FILES = 60;
const FILE_BYTES = 100_000;

let server: Awaited<ReturnType<typeof startGitServer>>;
beforeAll(async () => {
  server = await startGitServer();
  // Of texts that cannot be compressed: the pack is as large as they are.
  const noise = () => Array.from({ length: FILE_BYTES / 10 }, () => Math.random().toString(36).slice(2, 12)).join('');
  const blobs = Array.from({ length: FILES }, (_, number) => ({
    ...{ mode: '100644', type: 'blob', id: server.blob(noise()) },
    name: `n${number}`,
  }));
  server.branch('large', server.tree(blobs));
});
afterAll(() => server?.stop());

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
}, 60_000);

const checkout = (path = PATH) => checkouts({ rules: egressRules(['127.0.0.1']), path, ca_file: server.ca_file });
const orderOf = (into: string, branch = 'large') => ({ url: server.url, branch, token: null, into });
const failureIn = (into: string, { path = PATH, branch = 'large' } = {}): Promise<Error> =>
  checkout(path)(orderOf(into, branch), signal).then(
    () => Promise.reject(new Error('it was checked out')),
    (error: Error) => error,
  );

function emptyFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'perdura-into-'));
  endings.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('a checkout on a disk without room', () => {
  // Git gives up while it receives, while it makes its index, while it writes files out, and for want of names.
  it.each(['64k', '1m', '3m', '4500k', '6m', '9m', '40m,nr_inodes=8', '40m,nr_inodes=24', '40m,nr_inodes=60'])(
    'lacks room, whatever git says about it: %s',
    async (size) => {
      const disk = await mountSmallDisk(size);
      if (!disk) return console.warn(NO_DISK);
      endings.push(disk.remove);
      const into = emptyFolder(disk.folder);
      expect(findOutage(await failureIn(into))?.code).toBe('disk_full');
    },
  );

  it('is made when there is room', async () => {
    expect((await checkout()(orderOf(emptyFolder()), signal)).commit).toMatch(/^[0-9a-f]{40}$/);
  });
});

describe('what git says when it fails', () => {
  /** A directory with a program of that name, which fails with these words. */
  function gitThatSays(words: string): string {
    const folder = emptyFolder();
    writeFileSync(join(folder, 'words'), words);
    writeFileSync(join(folder, 'git'), `#!/bin/sh\ncat "${folder}/words" >&2\nexit 128\n`, { mode: 0o755 });
    return `${folder}:${PATH}`;
  }

  it.each([
    ['error: file write error: No space left on device\nfatal: fetch-pack: invalid index-pack output', 'disk_full'],
    ["fatal: sha1 file '.git/index.lock' write error. Out of diskspace", 'disk_full'],
    ['fatal: write error: Disk quota exceeded', 'disk_full'],
    ["fatal: could not open 'x' for reading: Too many open files", 'too_many_open_files'],
    ["fatal: could not open 'x' for reading: Too many open files in system", 'too_many_open_files'],
    ['fatal: mmap failed: Cannot allocate memory', 'out_of_memory'],
    ['error: cannot fork() for git-remote-https: Resource temporarily unavailable', 'too_many_processes'],
    ['fatal: Remote branch large not found in upstream origin', undefined],
    ['remote: No space left on device\nfatal: unable to access', undefined],
    ['fatal: remote error: No space left on device', undefined],
    ["error: unable to create file 'No space left on device': File name too long", undefined],
    ['', undefined],
  ])('"%s" is %s', async (words, code) => {
    const error = await failureIn(emptyFolder(), { path: gitThatSays(words) });
    expect(findOutage(error)?.code).toBe(code);
    expect(error.message).toContain('could not be checked out');
  });

  it('counts for nothing on a full disk', async () => {
    const disk = await mountSmallDisk('100k');
    if (!disk) return console.warn(NO_DISK);
    endings.push(disk.remove);
    const error = await failureIn(emptyFolder(disk.folder), { path: gitThatSays('fatal: kein Platz') });
    expect(findOutage(error)?.code).toBe('disk_full');
  });
});

it('a run whose repository finds no room is held, says which setting is concerned, and completes', {
  timeout: 120_000,
}, async () => {
  const disk = await mountSmallDisk('40m');
  if (!disk) return console.warn(NO_DISK);
  endings.push(disk.remove);
  const here = await startTestInstallation({ env: { PERDURA_HOME: disk.folder, REPO_CA_FILE: server.ca_file } });
  endings.push(() => here.stop());
  mkdirSync(join(disk.folder, 'workspaces'), { recursive: true });
  const workflow = { repo_url: server.url, repo_branch: 'large' };
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'] }, workflow });
  here.model.script(asks({ name: 'bash', args: { command: 'ls | wc -l' }, id: 'call_1' }), says('Done.'));
  await disk.fill();
  const task_id = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  const seen = await here.alice.events(stream, { enough: ({ data }) => data.event === 'retry', timeout_ms: 60_000 });
  const sentence = 'The disk is full: there is no room for the workspaces of runs (PERDURA_HOME); make room there';
  expect(JSON.stringify(seen.at(-1)!.data)).toContain(sentence);
  expect(JSON.stringify(seen)).not.toContain(disk.folder);
  expect(await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).toMatchObject({ status: 'running', error: null });
  disk.makeRoom();
  const task = await here.ended(task_id, 60_000);
  expect(task).toMatchObject({ status: 'completed', response: 'Done.' });
  expect(task.messages.find(({ role }: { role: string }) => role === 'tool').content).toContain(String(FILES));
});
