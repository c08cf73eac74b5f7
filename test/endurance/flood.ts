import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isTerminal } from '../../src/domain/statuses.ts';
import { type Client, clientOf } from '../support/client.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { onScene } from './scene.ts';

const { values } = parseArgs({ options: { flood: { type: 'string', default: '1000' }, few: { type: 'string', default: '20' } } });
const [flood, few] = [Number(values.flood), Number(values.few)];

const TOOL = 'manage_todo_list';
const IDLE_ROUNDS = 3;
const AT_ONCE = 20;

/** One owner starts many runs; then another one starts a few. Measures how much longer these take than on an idle installation. */
const host = createServer((request, response) => {
  const login = request.headers.authorization?.split('-of-')[1];
  response.writeHead(login ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify({ id: login, login }));
});
host.listen(0, '127.0.0.1');
await once(host, 'listening');
const env = {
  IDENTITY_PROVIDERS: 'local,github',
  IDENTITY_API_URL: `http://127.0.0.1:${(host.address() as AddressInfo).port}`,
  RUNNING_TASKS_PER_PRINCIPAL: '100000',
};
await onScene({ workers: 1, env }, async ({ model, client, made, provider_id, urls, say }) => {
  model.always((response, request) =>
    (request.messages.at(-1)?.role === 'tool' ? says('Done.') : asks({ name: TOOL, args: { todoList: [] } }))(response, request),
  );
  const agent_id = await made('/api/agents', { name: 'flooded', provider_id, builtin_tools: [TOOL] });
  const bob = clientOf(urls[0]!, 'token-of-bob');
  const [many, own] = [await workflowsOf(client, agent_id, flood), await workflowsOf(bob, agent_id, few)];
  const idle: number[] = [];
  for (let round = 0; round < IDLE_ROUNDS; round += 1) idle.push(await timed(bob, own));
  const usual = idle.sort((one, other) => one - other)[1]!;
  say(`${few} runs take ${usual} ms when nothing else runs`);
  await inTurns(many, (id) => client.ok(client.post(`/api/workflows/${id}/prompt`, { prompt: 'Flood.' }), 201));
  say(`${flood} runs of another owner are accepted`);
  const delayed = await timed(bob, own);
  const withStatus = async (status: string) =>
    Number((await client.get(`/api/tasks?status=${status}&limit=1`)).headers.get('x-total-count'));
  const left = (await withStatus('pending')) + (await withStatus('running'));
  say(`${few} runs take ${delayed} ms meanwhile: ${((delayed - usual) / usual).toFixed(1)} times their idle time more`);
  say(`${left} of the flood have not ended`);
  assert.ok(left > 0, 'the flood was over: send a larger one');
  assert.ok(delayed - usual < 2 * usual, 'the few are delayed by more than twice their idle time');
});
host.closeAllConnections();
host.close();

/** Does the work of all, some at a time, in their order. */
async function inTurns<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < all.length; from += AT_ONCE)
    done.push(...(await Promise.all(all.slice(from, from + AT_ONCE).map(work))));
  return done;
}

async function workflowsOf(by: Client, agent_id: string, count: number): Promise<string[]> {
  const made = await inTurns(Array.from({ length: count }), () =>
    by.ok(by.post('/api/workflows', { agent_id, output_format: 'markdown' }), 201),
  );
  return made.map(({ id }) => id as string);
}

/** How long one run of each workflow takes, all at once. */
async function timed(by: Client, workflows: readonly string[]): Promise<number> {
  const start = performance.now();
  await Promise.all(
    workflows.map(async (id) => {
      const { task_id } = await by.ok(by.post(`/api/workflows/${id}/prompt`, { prompt: 'Few.' }), 201);
      while (!isTerminal((await by.ok(by.get(`/api/tasks/${task_id}`))).status)) await wait(50);
    }),
  );
  return Math.round(performance.now() - start);
}
