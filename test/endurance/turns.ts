import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client';
import { toRunId } from '../../src/temporal/names.ts';
import { rebuildTexts } from '../support/client.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { onScene } from './scene.ts';

const { values } = parseArgs({ options: { turns: { type: 'string', default: '1000' } } });
const turns = Number(values.turns);

const TOOL = 'EFFECT = "read"\ndef repeat(n: int) -> str:\n    return str(n).rjust(5000, "x")\n';
const LARGEST_PAYLOAD = 256 * 1024;

interface Costs {
  /** Bytes of history as JSON for each step, over all executions of the chain. */
  steps: number[];
  executions: number;
  /** Bytes of history as the engine keeps it. */
  kept: number;
  largest_payload: number;
}

/** A run of many turns, watched by one client: measures what a turn costs the engine and checks that the client sees every event. */
await onScene({ workers: 1 }, async ({ model, client, resources, made, provider_id, servers, say }) => {
  let asked = 0;
  let summaries = 0;
  model.always((response, request) => {
    if (!request.tools?.length) {
      summaries += 1;
      return says('So far all went well.')(response, request);
    }
    asked += 1;
    return (asked <= turns ? asks({ name: 'repeat', args: { n: asked } }) : says('At last.'))(response, request);
  });
  const tool = await made('/api/custom-tools', { name: 'repeat', source_code: TOOL });
  const agent_id = await made('/api/agents', { name: 'long', provider_id, custom_tool_ids: [tool] });
  const workflow_id = await made('/api/workflows', { agent_id, max_turns: turns, output_format: 'markdown' });
  const { task_id } = await client.ok(
    client.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'Use the tool again and again.' }),
  );
  const start = Date.now();
  const path = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  const events = await client.events(path, { timeout_ms: turns * 1_000 + 60_000 });
  const seconds = (Date.now() - start) / 1000;
  const task = await client.ok(client.get(`/api/tasks/${task_id}`));
  assert.deepEqual([task.status, task.turns, task.response], ['completed', turns, 'At last.']);
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index + 1),
  );
  assert.equal(events.filter(({ data }) => data.event === 'tool_result').length, turns);
  assert.equal(rebuildTexts(events).texts.at(-1), 'At last.');
  const connection = resources.hold(await Connection.connect({ address: servers.temporal_address }), (it) => it.close());
  const { steps, executions, kept, largest_payload } = await costsOf(new Client({ connection }), task_id);
  say(`${turns} turns in ${seconds.toFixed(0)} s, ${events.length} events without a gap, ${summaries} compactions`);
  say(
    `${executions} executions, one after the other, ${Math.round(kept / turns)} bytes per turn; largest payload ${largest_payload} bytes`,
  );
  const part = Math.floor(steps.length / 5);
  for (let from = 0; from + part <= steps.length; from += part)
    say(`from turn ${from + 1}: ${mean(steps, from, part)} bytes per turn as JSON`);
  const middle = mean(steps, part, part);
  const late = mean(steps, steps.length - part, part);
  say(`the last fifth costs ${((late / middle) * 100).toFixed(1)} % of the second one`);
  assert.ok(Math.abs(late / middle - 1) < 0.1, 'bytes per turn are not constant');
  assert.ok(largest_payload < LARGEST_PAYLOAD, 'a payload is too large');
});

function mean(of: number[], from: number, count: number): number {
  return Math.round(of.slice(from, from + count).reduce((sum, size) => sum + size, 0) / count);
}

async function costsOf(client: Client, task_id: string): Promise<Costs> {
  const costs: Costs = { steps: [], executions: 0, kept: 0, largest_payload: 0 };
  const runs: WorkflowExecutionInfo[] = [];
  for await (const run of client.workflow.list({ query: `WorkflowId = '${toRunId(task_id)}'` })) runs.push(run);
  for (const { runId, historySize = 0 } of runs.sort((a, b) => Number(a.startTime) - Number(b.startTime))) {
    costs.executions += 1;
    costs.kept += historySize;
    const { events } = await client.workflow.getHandle(toRunId(task_id), runId).fetchHistory();
    for (const event of events ?? []) {
      const bytes = JSON.stringify(event, asText).length;
      if (event.activityTaskScheduledEventAttributes?.activityType?.name === 'exchange') costs.steps.push(0);
      if (costs.steps.length > 0) costs.steps[costs.steps.length - 1]! += bytes;
      costs.largest_payload = Math.max(costs.largest_payload, largestIn(event));
    }
  }
  return costs;
}

function asText(_: string, value: unknown) {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: number[] };
  return type === 'Buffer' && data ? Buffer.from(data).toString('base64') : value;
}

/** Payloads occur wherever there is binary data. */
function largestIn(value: unknown): number {
  if (value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Math.max(0, ...Object.values(value).map(largestIn));
}
