import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let worker: Child;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
  worker = await startWorkerProcess(here.setting);
});
afterAll(async () => {
  await worker?.end('SIGKILL');
  await here?.stop();
});

it('a turn whose worker is killed continues, ends once, and sends the turns before it as it did before', async () => {
  const workflow = { remember: 'thread' };
  const id = await here.workflow({ workflow, tools: ['EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    return a + b\n'] });
  const { name } = await toolOf(here, id);
  here.model.script(asks({ name, args: { a: 17, b: 25 } }), says('It is 42.'));
  const first = await here.ended(await here.prompt(id, 'Add 17 and 25.'), 40_000);
  expect(first).toMatchObject({ status: 'completed', response: 'It is 42.' });
  const asked = here.model.requests.length;
  here.model.script(asks({ name, args: { a: 42, b: 5 } }), hangs('Half'), says('It is 47.'), says('No more.'));
  const second = await here.prompt(id, 'Add 5.', { thread_id: first.id });
  await until('its second step asks the model', async () => here.model.requests.length === asked + 2, 40_000);
  const third = await here.prompt(id, 'More?', { thread_id: first.id });
  expect(await worker.end('SIGKILL')).toBe(null);
  worker = await startWorkerProcess(here.setting);
  expect(await here.ended(second, 60_000)).toMatchObject({
    status: 'completed',
    response: 'It is 47.',
    thread_turn: 2,
    steps: 2,
  });
  expect(await here.ended(third, 60_000)).toMatchObject({ status: 'completed', response: 'No more.', thread_turn: 3 });
  const [opening, half, again, next, ...more] = here.model.requests.slice(asked).map(({ messages }) => messages);
  expect(more).toEqual([]);
  expect(again).toEqual(half);
  expect(again!.slice(0, opening!.length)).toEqual(opening);
  expect(next!.slice(0, again!.length)).toEqual(again);
  expect(next!.slice(again!.length)).toEqual([
    { role: 'assistant', content: 'It is 47.' },
    { role: 'user', content: 'More?' },
  ]);
}, 180_000);
