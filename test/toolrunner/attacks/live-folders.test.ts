import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ConfinedProcess, shareWithTools, startToolRunner } from '../../../src/toolrunner/index.ts';
import type { PythonToolRunner } from '../../../src/toolrunner/python-tool-runner.ts';
import { type Layer, restoreLayers, storeLayer } from '../../../src/tools/snapshots/layer.ts';
import type { ObjectStore } from '../../../src/tools/snapshots/object-store.ts';
import { openStoredWorkspaces } from '../../../src/tools/snapshots/stored-workspaces.ts';
import { findTreeChange, readTree } from '../../../src/tools/snapshots/tree.ts';
import { runWithinLimits } from '../../../src/tools/workspace-limits.ts';
import { createWorkspaces as workspacesIn } from '../../../src/tools/workspaces.ts';
import { MAIN_TIERS } from '../support.ts';
import { STORM } from './storm.ts';

const PATIENCE_MS = 240_000;
const signal = new AbortController().signal;
const LIMITS = { bytes: 1e9, files: 1e6 };

/** Objects in this process, which can be searched. */
function memoryStore(): ObjectStore & { contents(): string } {
  const objects = new Map<string, Uint8Array>();
  return {
    put: async (key, content) => void objects.set(key, Uint8Array.from(content)),
    get: async (key) => objects.get(key) ?? null,
    folders: async () => [],
    async remove(prefix) {
      for (const key of objects.keys()) if (key.startsWith(prefix)) objects.delete(key);
    },
    contents: () => [...objects.values()].map((content) => gunzipSync(content).toString('latin1')).join(),
  };
}

/** What the links of a storm point at. */
function openOutside() {
  const dir = mkdtempSync(join(tmpdir(), 'outside-'));
  chmodSync(dir, 0o755);
  const secret = `secret-${randomBytes(16).toString('hex')}`;
  const inner = join(dir, 'inner');
  mkdirSync(inner);
  for (const file of [join(dir, 'private'), join(inner, '0'), join(inner, '1')]) writeFileSync(file, secret);
  const everything = ['', 'private', 'inner', 'inner/0', 'inner/1'].map((path) => join(dir, path));
  for (const path of everything) chmodSync(path, lstatSync(path).isDirectory() ? 0o755 : 0o604);
  const look = () =>
    everything.map((path) => `${path} ${(({ mode, uid, gid, nlink }) => [mode, uid, gid, nlink])(lstatSync(path))}`);
  const before = look();
  return {
    dir,
    secret,
    check() {
      expect(look()).toEqual(before);
      for (const file of ['private', 'inner/0', 'inner/1']) expect(readFileSync(join(dir, file), 'utf8')).toBe(secret);
    },
    close: () => rmSync(dir, { recursive: true }),
  };
}

const times = async (count: number, work: (index: number) => Promise<unknown>) => {
  for (let index = 0; index < count; index += 1) await work(index);
};

describe.each(Object.entries(MAIN_TIERS))(
  'a tool of the tier %s that exchanges what is in its workspace all the time',
  (_, tier) => {
    let runner: PythonToolRunner;
    let parent: string;
    let outside: ReturnType<typeof openOutside>;
    let running: ConfinedProcess[] = [];
    beforeAll(async () => {
      parent = mkdtempSync(join(tmpdir(), 'stormy-'));
      chmodSync(parent, 0o711);
      runner = await startToolRunner({ ...tier, workspaces: parent });
    }, PATIENCE_MS);
    afterAll(async () => {
      await runner.close();
      rmSync(parent, { recursive: true, force: true });
    });
    beforeEach(() => {
      outside = openOutside();
    });
    afterEach(async () => {
      await Promise.all(running.map((it) => it.kill()));
      running = [];
      outside.close();
    });

    const workspace = (name: string) => {
      const directory = join(parent, name);
      mkdirSync(directory, { mode: 0o700 });
      return directory;
    };

    /** Resolves when it blows. */
    async function storm(directory: string, more: string[] = []): Promise<ConfinedProcess> {
      const python = runner.interpreter!.executable;
      const args = ['-c', STORM, outside.dir, ...more];
      const started = await runner.startConfined({ command: python, args, workspace: directory });
      running.push(started);
      const said = Promise.race([once(started.stdout, 'data'), once(started.stderr, 'data')]);
      expect(String((await said)[0])).toContain('storm');
      return started;
    }

    it('changes nothing outside while its size is measured, and stops nobody', { timeout: PATIENCE_MS }, async () => {
      const directory = workspace('measured');
      await storm(directory);
      await times(150, () =>
        runWithinLimits(LIMITS, async ({ enter }) => {
          await enter(directory);
          return { content: 'done', failed: false };
        }),
      );
      outside.check();
    });

    it('brings nothing from outside into a snapshot, and fails none', { timeout: PATIENCE_MS }, async () => {
      const directory = workspace('stored');
      await storm(directory);
      const objects = memoryStore();
      const layers: Layer[] = [];
      const place = { objects, prefix: 'run/', signal };
      await times(60, async () => {
        layers.push(await storeLayer(directory, findTreeChange(new Map(), await readTree(directory)), place));
      });
      expect(objects.contents()).toContain('ownown');
      expect(objects.contents()).not.toContain(outside.secret);
      await restoreLayers(workspace('restored'), layers, place);
      outside.check();
    });

    it('changes nothing outside while its workspace is shared with it', { timeout: PATIENCE_MS }, async () => {
      const directory = workspace('shared');
      await storm(directory);
      await times(100, async () => {
        // As if it had not been shared yet: another call has begun at the same time.
        chmodSync(directory, 0o777);
        chownSync(directory, 0, 0);
        await shareWithTools(directory);
      });
      outside.check();
    });

    it('loses nothing outside while its workspace is removed', { timeout: PATIENCE_MS }, async () => {
      const directory = workspace('removed');
      const { kill } = await storm(directory, ['fast']);
      const { remove } = workspacesIn(parent);
      // A folder that is a link to a folder outside by turns, and is made again.
      const inner = workspacesIn(directory);
      await times(1_500, () => inner.remove('a').catch(() => {}));
      await remove('removed').catch(() => {});
      outside.check();
      await kill();
      await remove('removed');
      expect(existsSync(directory)).toBe(false);
      outside.check();
    });

    it('harms nothing from its first call to the end of its run, with a bucket', { timeout: PATIENCE_MS }, async () => {
      const objects = memoryStore();
      const layers: { number: string; chunks: string[]; bytes: number }[] = [];
      const save = async (layer: Layer) => {
        layers.push({ ...layer, number: String(layers.length + 1) });
        return String(layers.length);
      };
      const record = { find: async () => layers, first: (_id: string, layer: Layer) => save(layer), forget: async () => {} };
      const stored = await openStoredWorkspaces({ parent: join(parent), objects, record, log: () => {} });
      const fill = async (into: string) => writeFileSync(join(into, 'README'), 'given');
      const directory = await stored.enter('bucket', fill, signal);
      const { kill } = await storm(directory);
      await times(30, async () => {
        await stored.enter('bucket', fill, signal);
        await stored.leave('bucket', save, signal);
      });
      expect(layers.length).toBeGreaterThan(1);
      expect(objects.contents()).not.toContain(outside.secret);
      outside.check();
      await kill();
      await stored.leave('bucket', save, signal);
      await stored.remove('bucket');
      expect(existsSync(directory)).toBe(false);
      outside.check();
      await stored.close();
    });
  },
);

/** Without namespaces a call has a private directory on the host, which its supervisor measures and removes. */
it('a process that is left in the private directory of a call harms nothing outside', { timeout: PATIENCE_MS }, async () => {
  const outside = openOutside();
  const home = mkdtempSync(join(tmpdir(), 'slot-'));
  const left = spawn('python3', ['-c', STORM, outside.dir, 'fast'], { env: { ...process.env, PERDURA_WORKSPACE: home } });
  await once(left.stdout, 'data');
  const package_folder = join(import.meta.dirname, '../../../src/toolrunner/python');
  const supervisor = `
import sys
sys.path.insert(0, sys.argv[2])
from perdura_tools.sandbox.scratch import fits, remove_tree
for _ in range(1500):
    try: remove_tree(sys.argv[1] + "/a")
    except OSError: pass
    assert fits(sys.argv[1], 1 << 20)`;
  execFileSync('python3', ['-c', supervisor, home, package_folder], { stdio: 'pipe' });
  outside.check();
  left.kill('SIGKILL');
  await once(left, 'exit');
  execFileSync('python3', ['-c', supervisor.replace('+ "/a"', ''), home, package_folder], { stdio: 'pipe' });
  expect(existsSync(home)).toBe(false);
  outside.check();
  outside.close();
});
