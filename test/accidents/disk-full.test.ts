import { afterEach, inject, it } from 'vitest';
import { startTestInstallation } from '../support/installation.ts';
import { holdsRuns } from '../support/machine/out-of-room.ts';
import { databaseOn, mountSmallDisk, NO_DISK } from '../support/machine/small-disk.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
}, 60_000);

it('a full disk holds runs, refuses prompts and is named by readiness', { timeout: 120_000 }, async (test) => {
  const disk = await mountSmallDisk();
  if (!disk) return test.skip(NO_DISK);
  endings.push(disk.remove);
  const { url, drop } = await databaseOn(disk, inject('postgres_url'), 'template_perdura');
  endings.push(drop);
  const here = await startTestInstallation({ setting: { database_url: url } });
  endings.push(() => here.stop());
  await holdsRuns(here, {
    code: 'disk_full',
    detail: /disk is full/,
    take: disk.fill,
    giveBack: async () => disk.makeRoom(),
  });
});
