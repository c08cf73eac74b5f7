import { spawnSync } from 'node:child_process';
import { afterEach, expect, it } from 'vitest';
import { testDatabase } from '../support/database/database.ts';
import { limitedRole } from '../support/database/limited-role.ts';
import { startTestInstallation } from '../support/installation.ts';
import { holdsRuns } from '../support/machine/out-of-room.ts';
import { startWorkerProcess } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';

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

/** A number for a new descriptor has to be smaller, and all of these are in use. */
const NO_DESCRIPTOR = 3;

it('a worker without a descriptor left holds a call that would write, and asks nobody about it', {
  timeout: 120_000,
}, async () => {
  const here = await startTestInstallation({ worker: false });
  endings.push(() => here.stop());
  const worker = await startWorkerProcess(here.setting);
  const limitTo = (files: number) => spawnSync('prlimit', [`--pid=${worker.pid}`, `--nofile=${files}:`]).status === 0;
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'] } });
  const writes = asks({ name: 'bash', args: { command: 'echo once >> file; cat file' }, id: 'call_1' });
  here.model.script(writes, says('Done.'));
  // Everything that a run needs is open now.
  await here.ended(await here.prompt(workflow_id), 60_000);
  here.model.script((response, request) => {
    expect(limitTo(NO_DESCRIPTOR)).toBe(true);
    return writes(response, request);
  }, says('Done.'));
  const task_id = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  const seen = await here.alice.events(stream, { enough: ({ data }) => data.event === 'retry', timeout_ms: 60_000 });
  const said = JSON.stringify(seen.at(-1)!.data);
  expect(said).toContain('Too many files and connections are open on this machine; raise the limit');
  expect(said).not.toContain('/workspaces');
  expect(limitTo(4_096)).toBe(true);
  const task = await here.ended(task_id, 60_000);
  expect(task).toMatchObject({ status: 'completed', response: 'Done.' });
  expect(task.messages.find(({ role }: { role: string }) => role === 'tool').content).toBe('once');
  const events = await here.alice.events(stream);
  expect(events.map(({ data }) => data.event)).not.toContain('reconciliation_requested');
  await worker.end('SIGTERM');
});
