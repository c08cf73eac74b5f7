import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StreamedEvent } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
const TEXT = 'Grüße 🌍 the first half, and then the other half.';

/** The text as a reader puts it together: without what came before the last reset. */
function readText(events: StreamedEvent[]): string {
  const reset = events.findLastIndex(({ data }) => data.event === 'attempt_reset');
  return events
    .slice(reset + 1)
    .flatMap(({ type, data }) => (type === 'message_delta' ? [data.delta] : []))
    .join('');
}

/** The stream of a run whose record is changed after the model's first words. */
async function streamed(change: (task_id: string) => Promise<unknown>) {
  const workflow_id = await here.workflow();
  const rest = Promise.withResolvers<void>();
  here.model.script(says(TEXT, { until: rest.promise }));
  const task_id = await here.prompt(workflow_id);
  await until(
    'the first words',
    async () => (await sql(`SELECT 1 FROM events WHERE task_id = $1 AND type = 'message_delta'`, task_id)).rowCount,
  );
  await change(task_id);
  rest.resolve();
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: TEXT });
  return here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
}

const resets = (events: StreamedEvent[]) => events.filter(({ data }) => data.event === 'attempt_reset').length;

it('a text of which the record has lost a part is written again as a whole when the exchange ends', async () => {
  const events = await streamed((task_id) => sql(`DELETE FROM events WHERE task_id = $1 AND type = 'message_delta'`, task_id));
  expect(resets(events)).toBe(1);
  expect(readText(events)).toBe(TEXT);
});

it('and so is one of which the record has other pieces', async () => {
  const events = await streamed((task_id) =>
    sql(`UPDATE events SET data = jsonb_set(data, '{delta}', '"Gruss "') WHERE task_id = $1 AND type = 'message_delta'`, task_id),
  );
  expect(resets(events)).toBe(1);
  expect(readText(events)).toBe(TEXT);
});

it('a text that is on record as it was published is not sent again', async () => {
  const events = await streamed(async () => {});
  expect(resets(events)).toBe(0);
  expect(readText(events)).toBe(TEXT);
});
