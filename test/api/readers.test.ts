import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DELTA_CHARACTERS } from '../../src/domain/pieces.ts';
import { unread } from '../support/browser/unread.ts';
import { eventOf, framesIn, rebuildTexts } from '../support/client.ts';
import { DOORS, LONG, metric as metricOf } from '../support/contract/doors.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { REPLY_STALL_SECONDS: '600' } });
});
afterAll(() => here.stop());

const READERS = 20;
/** For the queue, a page of the record, and what was written to the socket. */
const MOST_BYTES = 160 * 1024;

const metric = (name: string) => metricOf(here, name);

describe('readers that take nothing', () => {
  it('cost little while a run streams a long text, and get every event later', async () => {
    const workflow_id = await here.workflow();
    const path = `${here.url}/api/workflows/${workflow_id}/stream`;
    const live = await Promise.all(Array.from({ length: READERS / 2 }, () => unread(path, { token: ALICE })));
    here.model.script(says(LONG));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id, 60_000);
    const late = await Promise.all(
      Array.from({ length: READERS / 2 }, () => unread(`${path}?task_id=${task_id}`, { token: ALICE })),
    );
    const settled = await until('nothing moves', async () => {
      const before = await metric('perdura_stream_bytes_waiting');
      await new Promise((resolve) => setTimeout(resolve, 500));
      return before > 0 && before === (await metric('perdura_stream_bytes_waiting')) && before;
    });
    expect(await metric('perdura_streams_open')).toBe(READERS);
    expect(settled).toBeLessThan(READERS * MOST_BYTES);
    for (const reader of late) {
      const events = framesIn(await reader.read()).map(eventOf);
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
      expect(rebuildTexts(events).texts[0] === LONG).toBe(true);
      const deltas = events.filter(({ type }) => type === 'message_delta').map(({ data }) => data.delta.length);
      expect(Math.max(...deltas)).toBeLessThanOrEqual(DELTA_CHARACTERS + 1);
      expect(events.findLast(({ type }) => type === 'message')?.data.content === LONG).toBe(true);
    }
    expect(await metric('perdura_frame_wait_seconds_count')).toBeGreaterThan(READERS);
    for (const reader of live) reader.drop();
    await until('all are gone', async () => (await metric('perdura_streams_open')) === 0);
    await until('nothing waits', async () => (await metric('perdura_stream_bytes_waiting')) === 0);
  }, 120_000);

  it.each(Object.keys(DOORS))(
    'get the whole text later: %s',
    async (name) => {
      const { ask, textIn } = DOORS[name]!;
      here.model.script(says(LONG));
      const reader = await ask(here);
      expect(reader.status).toBe(200);
      await until(
        'it stands still',
        async () => {
          const before = await metric('perdura_stream_bytes_waiting');
          await new Promise((resolve) => setTimeout(resolve, 1_500));
          return before > 0 && before === (await metric('perdura_stream_bytes_waiting'));
        },
        60_000,
      );
      expect(textIn(await reader.read()) === LONG).toBe(true);
    },
    120_000,
  );
});

describe('a stream that ends before its first event', () => {
  it('leaves no subscription behind, in whatever way it ends', async () => {
    const workflow_id = await here.workflow();
    const { bus } = here.core;
    const subscribe = bus.subscribe.bind(bus);
    let begun = 0;
    const open = new Set<number>();
    bus.subscribe = (...given) => {
      begun += 1;
      const subscription = begun;
      open.add(subscription);
      const leave = subscribe(...given);
      return () => {
        open.delete(subscription);
        leave();
      };
    };
    const path = `${here.url}/api/workflows/${workflow_id}/stream`;
    const asked = (
      token: string,
      { method = 'GET', of = path, signal }: { method?: string; of?: string; signal?: AbortSignal } = {},
    ) => fetch(of, { method, headers: { authorization: `Bearer ${token}` }, ...(signal ? { signal } : {}) });
    const missing = `${path}?task_id=${workflow_id}`;
    expect((await asked(ALICE, { method: 'HEAD' })).status).toBe(200);
    expect((await asked(BOB)).status).toBe(403);
    expect((await asked(ALICE, { of: missing })).status).toBe(404);
    const leaving = new AbortController();
    expect((await asked(ALICE, { signal: leaving.signal })).status).toBe(200);
    expect(begun).toBe(4);
    leaving.abort();
    await until('all are left', async () => open.size === 0);
    bus.subscribe = subscribe;
  });
});
