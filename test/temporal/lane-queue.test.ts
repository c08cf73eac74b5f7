import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcile } from '../../src/temporal/repair/reconcile-tasks.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here?.stop());

const workflowOf = (id: string) => here.alice.ok(here.alice.get(`/api/workflows/${id}`));
const taskOf = (id: string) => here.alice.ok(here.alice.get(`/api/tasks/${id}`));
const allEnded = (ids: string[]) => Promise.all(ids.map((id) => here.ended(id)));
const statusesOf = (ids: string[]) => Promise.all(ids.map(async (id) => (await taskOf(id)).status));
const put = (id: string, values: object) => here.alice.ok(here.alice.put(`/api/workflows/${id}`, values));

/** A workflow whose run is in progress until it is halted, and two prompts behind it. */
async function busy(settings: object = {}) {
  const workflow_id = await here.workflow({ workflow: settings });
  const asked = here.model.requests.length;
  here.model.script(hangs('Half of'));
  const running = await here.prompt(workflow_id, 'running');
  await until('the model is asked', async () => here.model.requests.length > asked);
  return { workflow_id, running, queued: [await here.prompt(workflow_id, 'second'), await here.prompt(workflow_id, 'third')] };
}
/** What the reconciler does a minute from now, when nothing is still in progress. */
const compareLater = () => {
  const { store } = here.core;
  const { engine, settle } = here.driver;
  return reconcile({ store, engine, settle, definition: store.definitions.get, now: () => new Date(Date.now() + 60_000) });
};
const halt = async (task_id: string) => {
  await here.alice.post(`/api/tasks/${task_id}/stop`);
  await here.ended(task_id);
};

describe('a workflow that is switched off', () => {
  it('ends what has not begun, with the reason, and lets the run in progress continue', async () => {
    const { workflow_id, running, queued } = await busy();
    await put(workflow_id, { status: 'inactive' });
    const end = {
      ...{ status: 'halted', error_code: 'workflow_inactive', started_at: null },
      error: expect.stringMatching(/switched off before this run began; switch it on and send the prompt again/),
    };
    expect(await allEnded(queued)).toMatchObject([end, end]);
    expect((await taskOf(running)).status).toBe('running');
    await halt(running);
    await put(workflow_id, { status: 'active' });
    here.model.script(says('Again.'));
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ response: 'Again.' });
  });

  it('keeps what has not begun until it is switched on, if on_inactive is wait', async () => {
    const { workflow_id, running, queued } = await busy({ on_inactive: 'wait' });
    await put(workflow_id, { enabled: false });
    await halt(running);
    await compareLater();
    expect(await workflowOf(workflow_id)).toMatchObject({ status: 'inactive', on_inactive: 'wait' });
    expect(await statusesOf(queued)).toEqual(['pending', 'pending']);
    here.model.script(says('Second.'), says('Third.'));
    await put(workflow_id, { enabled: true });
    expect(await allEnded(queued)).toMatchObject([{ response: 'Second.' }, { response: 'Third.' }]);
  });

  it('has its queue ended by the reconciler if the request that switched it off did not get so far', async () => {
    const { workflow_id, running, queued } = await busy();
    await here.core.database.pool.query(`UPDATE workflows SET status = 'inactive' WHERE id = $1`, [workflow_id]);
    await here.core.database.pool.query(`UPDATE tasks SET created_at = now() - interval '1 minute' WHERE workflow_id = $1`, [
      workflow_id,
    ]);
    await halt(running);
    expect(await statusesOf(queued)).toEqual(['pending', 'pending']);
    await compareLater();
    const end = { error_code: 'workflow_inactive' };
    expect(await allEnded(queued)).toMatchObject([end, end]);
  });
});

it('a finished stream answers 204 to a reader who has its end, whatever else the URL asks for', async () => {
  const workflow_id = await here.workflow();
  here.model.script(says('Hello.'));
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  const path = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  const events = await here.alice.events(path);
  const last = events.at(-1)!.id!;
  const answer = (query: string, id?: number) =>
    fetch(`${here.url}${path}${query}`, {
      headers: {
        authorization: `Bearer ${here.people.alice.token}`,
        ...(id === undefined ? {} : { 'last-event-id': String(id) }),
      },
    });
  const ends = [await answer('', last), await answer(`&after=${last}`), await answer('&after=0', last)];
  expect(ends.map(({ status }) => status)).toEqual([204, 204, 204]);
  // A browser that reconnects sends the same URL, and what it has seen.
  const resumed = await here.alice.events(`${path}&after=0`, { headers: { 'last-event-id': String(last - 1) } });
  expect(resumed.map(({ id }) => id)).toEqual([last]);
  // Later runs of the workflow are not its end, and nobody else learns of it.
  here.model.script(says('Again.'));
  await here.ended(await here.prompt(workflow_id));
  expect((await answer('', last)).status).toBe(204);
  expect((await here.bob.get(`${path}&after=${last}`)).status).toBe(403);
});

/**
 * How often a prompt is begun before it is interrupted depends on chance, so that an answer says what it was asked. The older ones
 * never end.
 */
const echoes: Answer = (response, request) => {
  const asked = String(request.messages.findLast(({ role }) => role === 'user')?.content);
  return (/one|two/.test(asked) ? hangs('Half of') : says(`To ${asked}`))(response, request);
};

it('of several prompts that interrupt, only the newest runs, before those that wait', async () => {
  const { workflow_id, running, queued } = await busy();
  here.model.always(echoes);
  const urgent: string[] = [];
  for (const prompt of ['one', 'two', 'three']) urgent.push(await here.prompt(workflow_id, prompt, { on_busy: 'interrupt' }));
  expect(await here.ended(running)).toMatchObject({ status: 'halted', response: 'Half of' });
  const ends = [{ status: 'halted' }, { status: 'halted' }, { status: 'completed', response: 'To three' }];
  expect(await allEnded(urgent)).toMatchObject(ends);
  expect(await allEnded(queued)).toMatchObject([{ response: 'To second' }, { response: 'To third' }]);
});

it('an interrupting prompt that waits is ended with the reason once a newer one is accepted', async () => {
  const { workflow_id, running } = await busy();
  const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
  const [older, newer] = [await here.prompt(workflow_id, 'older'), await here.prompt(workflow_id, 'newer')];
  // As if the requests of both had been lost after they were recorded.
  await sql(`UPDATE tasks SET on_busy = 'interrupt', created_at = now() - interval '1 minute' WHERE id = ANY ($1)`, [
    older,
    newer,
  ]);
  await sql(
    `UPDATE workflows SET newest_interrupt = (SELECT lane_number FROM tasks WHERE id = $2) WHERE id = $1`,
    workflow_id,
    newer,
  );
  here.model.always(echoes);
  await compareLater();
  expect(await here.ended(older)).toMatchObject({
    ...{ status: 'halted', error_code: 'superseded', started_at: null },
    error: expect.stringContaining('A newer prompt'),
  });
  expect(await here.ended(running)).toMatchObject({ status: 'halted' });
  expect(await here.ended(newer)).toMatchObject({ status: 'completed', response: 'To newer' });
});
