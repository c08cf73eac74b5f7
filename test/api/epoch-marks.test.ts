import { expect, it } from 'vitest';
import { epochStore } from '../../src/store/runs/epoch.ts';
import { openTestDatabase } from '../support/database/database.ts';

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
