import { expect, it, onTestFinished, vi } from 'vitest';
import runRestored from '../../src/main/commands/restored.ts';
import { readConfig } from '../../src/main/config.ts';
import { epochStore } from '../../src/store/runs/epoch.ts';
import { openTestDatabase, testDatabase } from '../support/database/database.ts';

it('a restore is noted only if the record is behind, and still as it was read', async () => {
  const { pool, close } = await openTestDatabase();
  const epochs = epochStore(pool);
  const readRecorded = async () => {
    const { log: _, ...recorded } = await epochs.read();
    return recorded;
  };
  const mark = await readRecorded();
  expect(await epochs.noteRestore(mark)).toBeNull();
  expect(await epochs.noteRestore({ ...mark, beat: mark.beat + 7 }, ({ beat }) => beat !== mark.beat)).toBeNull();
  expect(await readRecorded()).toEqual(mark);
  expect(await epochs.noteRestore({ ...mark, beat: mark.beat + 7 })).toMatchObject({ epoch: mark.epoch + 1 });
  expect((await readRecorded()).epoch).toBe(mark.epoch + 1);
  await close();
});

it('`perdura restored` begins a new epoch of the database that is set, and reports it in words or JSON', async () => {
  const { url, drop } = await testDatabase();
  onTestFinished(drop);
  let out = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    out += String(chunk);
    return true;
  });
  onTestFinished(() => write.mockRestore());
  await runRestored(readConfig({ DATABASE_URL: url }));
  expect(out).toBe('Restored: epoch 2 begins. 0 unfinished tasks ask before they write, and streams send their runs again\n');
  out = '';
  await runRestored(readConfig({ DATABASE_URL: url }), ['--json']);
  expect(JSON.parse(out)).toEqual({ noted_in: null, restore: { epoch: 3, tasks: 0, restored_at: expect.any(String) } });
});
