import { afterEach, it } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { startTestInstallation } from '../support/installation.ts';
import { limitedRole } from '../support/limited-role.ts';
import { holdsRuns } from '../support/out-of-room.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
}, 60_000);

it('used-up connections hold runs, refuse prompts and are named by readiness', { timeout: 120_000 }, async () => {
  const { url, drop } = await testDatabase();
  endings.push(drop);
  const role = await limitedRole(url);
  endings.push(role.drop);
  const here = await startTestInstallation({ setting: { database_url: role.url } });
  endings.push(() => here.stop());
  await holdsRuns(here, {
    code: 'too_many_connections',
    detail: /too many connections/,
    take: role.exhaust,
    giveBack: role.giveBack,
  });
});
