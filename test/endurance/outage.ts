import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { rebuildTexts } from '../support/client.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { onScene, type Scene } from './scene.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, of: { type: 'string', default: 'postgres,temporal' } },
});
const seconds = Number(values.seconds);
const TEXT = 'One two three four five six seven eight nine ten.';
const WAITERS = 6;

/** Stops the database and then the engine for a while, with runs in progress and clients that prompt and read. Reports replies and runs. */
await onScene({ workers: 2, apis: 2 }, async (scene) => {
  const { model, made, provider_id } = scene;
  const tool = await made('/api/custom-tools', {
    name: 'nap',
    source_code: 'import time\ndef nap() -> str:\n    time.sleep(3)\n    return "rested"\n',
  });
  model.always((response, request) => {
    const answered = request.messages.some(({ role }) => role === 'tool');
    return (answered ? says(TEXT, { pause_ms: 400 }) : asks({ name: 'nap' }))(response, request);
  });
  const agent_id = await made('/api/agents', { name: 'naps', provider_id, custom_tool_ids: [tool] });
  for (const which of ['postgres', 'temporal'] as const) if (values.of.includes(which)) await without(scene, which, agent_id);
});

async function without({ servers, client, made, say }: Scene, which: 'postgres' | 'temporal', agent_id: string): Promise<void> {
  const workflows = await Promise.all(
    Array.from({ length: WAITERS }, () => made('/api/workflows', { agent_id, output_format: 'markdown' })),
  );
  const idle = await made('/api/workflows', { agent_id, output_format: 'markdown' });
  const tasks = await Promise.all(
    workflows.map(async (id) => {
      const { task_id } = await client.ok(client.post(`/api/workflows/${id}/prompt`, { prompt: 'Rest.' }));
      const watched = watch(client, `/api/workflows/${id}/stream?task_id=${task_id}`);
      await wait(700);
      return { task_id: task_id as string, watched };
    }),
  );
  await wait(1_500);
  const answers = new Map<string, number>();
  const over = new AbortController();
  const asking = ask(client, { idle, busy: workflows[0]!, answers }, over.signal);
  servers.kill(which);
  await wait(seconds * 1000);
  over.abort();
  await asking;
  await servers.start(which);
  const back = Date.now();
  say(`${which} was down for ${seconds} s; replies meanwhile:`);
  for (const [answer, count] of [...answers].sort()) say(`  ${String(count).padStart(4)}  ${answer}`);
  for (const { task_id, watched } of tasks) {
    const events = await watched;
    const task = await client.ok(client.get(`/api/tasks/${task_id}`));
    const whole = rebuildTexts(events).texts.at(-1) === task.response && task.response === TEXT;
    say(
      `  ${task_id} ${task.status}, ${((Date.now() - back) / 1000).toFixed(1)} s after; its stream ${whole ? 'is the record' : 'is WRONG'}`,
    );
  }
  const after = await client.ok(client.get(`/api/workflows/${idle}`));
  say(`  tasks left by refused prompts: ${after.task_count}; workers and APIs were not restarted`);
}

type Client = Scene['client'];

/** All events of a run, resumed after each broken connection. */
async function watch(client: Client, path: string) {
  const events: Awaited<ReturnType<Client['events']>> = [];
  const ended = () => /completed|failed|halted/.test(String(events.findLast(({ type }) => type === 'status')?.data.status));
  while (!ended()) {
    const headers = { 'last-event-id': String(events.at(-1)?.id ?? 0) };
    const enough = (event: (typeof events)[number]) => {
      events.push(event);
      return false;
    };
    await client.events(path, { headers, enough, timeout_ms: 600_000 }).catch(() => wait(500));
  }
  return events;
}

async function ask(
  client: Client,
  { idle, busy, answers }: { idle: string; busy: string; answers: Map<string, number> },
  signal: AbortSignal,
): Promise<void> {
  const asked: [string, () => ReturnType<Client['get']>][] = [
    ['prompt', () => client.post(`/api/workflows/${idle}/prompt`, { prompt: 'Now?' })],
    ['health/ready', () => client.get('/health/ready')],
    ['list of workflows', () => client.get('/api/workflows')],
    ['workflow with its messages', () => client.get(`/api/workflows/${busy}`)],
    ['health/live', () => client.get('/health/live')],
    ['OpenAPI', () => client.get('/openapi.json')],
  ];
  while (!signal.aborted) {
    for (const [name, send] of asked) {
      const start = Date.now();
      const reply = await send().then(
        ({ status, headers, body }) => `${name}: ${status} ${body.code ?? ''} ${retryAfter(headers)}`,
        (error: Error) => `${name}: ${error.message}`,
      );
      const slow = Date.now() - start > 6_000 ? ' (after more than 6 s)' : '';
      answers.set(reply.trim() + slow, (answers.get(reply.trim() + slow) ?? 0) + 1);
    }
    await wait(1_000, undefined, { signal }).catch(() => {});
  }
}

function retryAfter(headers: Headers): string {
  return headers.has('retry-after') ? `Retry-After: ${headers.get('retry-after')}` : '';
}
