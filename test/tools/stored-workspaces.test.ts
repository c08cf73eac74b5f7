import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { readConfig } from '../../src/main/config.ts';
import { runWorkspaces } from '../../src/main/wiring/runs/workspaces.ts';
import type { Layer } from '../../src/tools/snapshots/layer.ts';
import { openStoredWorkspaces } from '../../src/tools/snapshots/stored-workspaces.ts';
import { startObjectStore, type TestObjectStore } from '../support/peers/object-store.ts';

let store: TestObjectStore;
let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'perdura-workspaces-'));
  store = await startObjectStore();
});
afterAll(async () => {
  await store.stop();
  rmSync(home, { recursive: true, force: true });
});

const signal = new AbortController().signal;
const TASK = 'task-7';

/** Opens workspaces over a record of layers; those of several workers share it. */
async function opened(layers: (Layer & { number: string })[] = [], log: (line: string) => void = () => {}) {
  const add = async (layer: Layer) => {
    layers.push({ ...layer, number: String(layers.length + 1) });
    return String(layers.length);
  };
  const record = {
    find: async () => [...layers],
    first: async (_: string, layer: Layer) => (layers.length > 0 ? null : add(layer)),
    forget: async () => void layers.splice(0),
  };
  const parent = mkdtempSync(join(home, 'worker-'));
  const workspaces = await openStoredWorkspaces({ parent, objects: store.objects, record, log });
  onTestFinished(() => workspaces.close());
  const enter = (content = 'given') =>
    workspaces.enter(TASK, async (into) => writeFileSync(join(into, 'README'), content), signal);
  return { workspaces, enter, add, layers };
}

it('the first copy is that of the worker that was faster', async () => {
  const { layers, ...fast } = await opened();
  const slow = await opened(layers);
  const entering = slow.workspaces.enter(
    TASK,
    async (into) => {
      await fast.enter('of the fast one');
      writeFileSync(join(into, 'README'), 'of the slow one');
    },
    signal,
  );
  expect(readFileSync(join(await entering, 'README'), 'utf8')).toBe('of the fast one');
  expect(layers).toHaveLength(1);
});

it('the end of a call whose run was removed meanwhile stores nothing', async () => {
  const { workspaces, enter, add, layers } = await opened();
  const directory = await enter();
  writeFileSync(join(directory, 'late'), '');
  await workspaces.remove(TASK);
  await workspaces.leave(TASK, add, signal);
  expect([existsSync(directory), layers]).toEqual([false, []]);
});

it('a call that is left without a record stores nothing', async () => {
  const { workspaces, enter, layers } = await opened();
  writeFileSync(join(await enter(), 'unrecorded'), '');
  await workspaces.leave(TASK, null, signal);
  expect(layers).toHaveLength(1);
});

it('changes are stored as soon as the record is available again, and a fault is reported at once', async () => {
  const lines: string[] = [];
  const { workspaces, enter, add, layers } = await opened([], (line) => lines.push(line));
  let saves = 0;
  const save = async (layer: Layer) => {
    saves += 1;
    if (saves === 1) throw new OutageError({ code: 'database_unavailable', sentence: 'The database is down' });
    return add(layer);
  };
  writeFileSync(join(await enter(), 'one'), '1');
  await workspaces.leave(TASK, save, signal);
  expect([saves, layers.length]).toEqual([2, 2]);
  expect(lines).toEqual(['A workspace is not stored yet, trying again: The database is down']);
  writeFileSync(join(await enter(), 'two'), '2');
  const broken = () => Promise.reject(new Error('a defect'));
  await expect(workspaces.leave(TASK, broken, signal)).rejects.toThrow('a defect');
  expect([lines.length, layers.length]).toEqual([1, 2]);
});

it('a copy that no call has used for ten minutes is dropped, and restored by the next call', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { workspaces, enter } = await opened();
  const directory = await enter();
  const unsaved = join(directory, 'unsaved');
  writeFileSync(unsaved, '');
  vi.advanceTimersByTime(11 * 60_000);
  await workspaces.leave(TASK, null, signal);
  vi.advanceTimersByTime(9 * 60_000);
  await enter();
  await workspaces.leave(TASK, null, signal);
  expect(existsSync(unsaved)).toBe(true);
  vi.advanceTimersByTime(9 * 60_000);
  // A call that begins in the same moment keeps the copy.
  const begun = enter();
  vi.advanceTimersByTime(2 * 60_000);
  await begun;
  await workspaces.leave(TASK, null, signal);
  expect(existsSync(unsaved)).toBe(true);
  vi.advanceTimersByTime(11 * 60_000);
  await expect.poll(() => existsSync(directory)).toBe(false);
  expect(readFileSync(join(await enter(), 'README'), 'utf8')).toBe('given');
  expect(existsSync(unsaved)).toBe(false);
  await workspaces.leave(TASK, null, signal);
});

it('a call that is stopped stores its changes nevertheless, and one that cannot have changed anything stores nothing', async () => {
  const layers: (Layer & { number: string })[] = [];
  const add = async (_call: unknown, layer: Layer) => {
    layers.push({ ...layer, number: String(layers.length + 1) });
    return String(layers.length);
  };
  const workspaceLayers = { find: async () => [...layers], first: add, add, forget: async () => {} };
  const config = readConfig({ ...store.env, PERDURA_HOME: mkdtempSync(join(home, 'home-')) });
  const core = { store: { workspaceLayers }, setting: { config }, egress: { objects: fetch, configuration: {} }, log: () => {} };
  const workspaces = await runWorkspaces(core as never);
  onTestFinished(() => workspaces.close());
  const run = { task_id: TASK, repository: null } as never;
  const write = async (name: string, call: object | null, ended = signal) => {
    const held = workspaces.hold(run);
    writeFileSync(join(await held.directory(signal), name), name);
    await held.release(call as never, ended);
    return layers.length;
  };
  expect(await write('one', { call_id: '1-1' })).toBe(1);
  expect(await write('two', { call_id: '1-2' }, AbortSignal.abort(new Error('halted')))).toBe(2);
  expect(await write('three', null)).toBe(2);
});
