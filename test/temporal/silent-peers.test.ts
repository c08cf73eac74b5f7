import { afterEach, expect, it } from 'vitest';
import { startTestInstallation } from '../support/installation.ts';
import { installationBehindProxy } from '../support/peers/behind-proxy.ts';
import { hangs } from '../support/peers/model-server.ts';
import { PATIENCE_MS, startWatchedRun, WATCHED_TEXT, WHOLE } from '../support/runs/watched-run.ts';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

it('while the connection that events come by is silent, for good, every stream ends with the whole text', {
  timeout: 120_000,
}, async () => {
  const { here, proxy } = await installationBehindProxy(endings);
  const { seen, task_id } = await startWatchedRun(here);
  proxy.silence({ saying: 'perdura events', fresh: true });
  expect(await seen()).toEqual(WHOLE);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: WATCHED_TEXT });
  // A halt does not need the bus either.
  here.model.script(hangs('Half'));
  const halted = await here.prompt(await here.workflow());
  expect((await here.alice.post(`/api/tasks/${halted}/stop`)).status).toBe(202);
  expect(await here.ended(halted, PATIENCE_MS)).toMatchObject({ status: 'halted' });
});

it('a stream that is resumed at an event number that does not exist yet is reset, has the whole run and ends with it', {
  timeout: 90_000,
}, async () => {
  const here = await startTestInstallation();
  endings.push(() => here.stop());
  const { workflow_id, reading, task_id } = await startWatchedRun(here);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  const headers = { 'last-event-id': '1000000' };
  const rest = await here.alice.events(stream, { headers, timeout_ms: PATIENCE_MS });
  const whole = (await Promise.all(reading))[0]!;
  const idsOf = (events: typeof whole) => events.map(({ id }) => id);
  const last = whole.at(-1)!.id;
  for (const events of [rest, await here.alice.events(stream, { headers: { 'last-event-id': String(last + 1) } })]) {
    expect(events[0]).toMatchObject({ id: 0, type: 'log', data: { event: 'stream_reset' } });
    expect(idsOf(events.slice(1))).toEqual(idsOf(whole));
  }
  expect((await here.alice.get(stream, { 'last-event-id': String(last) })).status).toBe(204);
});
