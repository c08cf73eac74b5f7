import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type Child, childOf } from '../support/machine/processes.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const running: Child[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const child of running.splice(0)) await child.end('SIGINT');
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

function command(home: string, name: string): Child {
  const env = { ...process.env, PERDURA_HOME: home, OPENAI_API_KEY: '' };
  const child = childOf(
    spawn(process.execPath, [join(ROOT, 'bin/perdura.mjs'), name], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  running.push(child);
  return child;
}

/** The lines about an epoch that `npm start` logs until it is ready; with `meanwhile`, of what that command prints too. */
async function epochsOf(home: string, meanwhile?: string): Promise<string[]> {
  const child = command(home, 'dev');
  await child.prints(/Perdura is ready/, 90_000);
  let printed = child.output();
  if (meanwhile) {
    const other = command(home, meanwhile);
    await other.ended;
    printed += other.output();
  }
  await child.end('SIGINT');
  return [...printed.matchAll(/^.*epoch \d+ begins/gm)].map(([line]) => line);
}

it('a home begins a new epoch when it was copied back or declared as restored, and at no other start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdura-restored-'));
  folders.push(folder);
  // The user that Postgres runs as has to reach its data, or they are kept elsewhere and not copied.
  await chmod(folder, 0o711);
  const [home, saved, moved] = ['home', 'saved', 'moved'].map((name) => join(folder, name)) as [string, string, string];
  expect(await epochsOf(home)).toEqual([]);
  // With owners and modes, as a backup tool does.
  spawnSync('cp', ['-a', home, saved]);
  await rm(home, { recursive: true });
  await rename(saved, home);
  const copied = 'The home was restored or copied: epoch 2 begins';
  expect(await epochsOf(home, 'restored')).toEqual([copied, 'Restored: epoch 3 begins']);

  const declared = command(home, 'restored');
  await declared.ended;
  expect(declared.output()).toBe(`Noted in ${home}: a new epoch begins with the next start\n`);
  expect(await epochsOf(home)).toEqual(['The home was restored or copied: epoch 4 begins']);
  await rename(home, moved);
  expect(await epochsOf(moved)).toEqual([]);
  const nowhere = command(join(folder, 'none'), 'restored');
  await nowhere.ended;
  expect(nowhere.output()).toBe(
    `perdura restored: There is no home ${join(folder, 'none')}: set PERDURA_HOME, or DATABASE_URL\n`,
  );
}, 400_000);
