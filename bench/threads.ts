import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { toRunId } from '../src/temporal/names.ts';
import { client } from './client.ts';
import type { Model, Started } from './installation.ts';
import { type Spread, spreadOf } from './load.ts';
import { createProvider } from './subjects.ts';

/** The measurement of some turns of one conversation, from the prompt to the end of the answer. */
export interface TurnCosts {
  from: number;
  to: number;
  ms: Spread;
  /** The bytes of the history of each run in the engine. */
  history_bytes: Spread;
}

/** The turns that one row of the table is about. */
const GROUP = 20;
const WINDOW = 8_000;
const PROMPT = `${'The customer has paid a part of the invoice, and asks when the rest is due. '.repeat(8)}[[turns=1;tokens=60]]`;

/** Sends the turns of one conversation, each after the one before, and measures groups of them, of which the last one ends it. */
export async function threads(started: Started, model: Model, turns: number): Promise<TurnCosts[]> {
  const { installation, token } = started;
  const { create, run } = client(installation, token);
  const provider_id = await createProvider(create, model, { context_window: WINDOW });
  const agent_id = await create('/api/agents', { name: 'bench thread', provider_id });
  const settings = { output_format: 'markdown', remember: 'thread', infinite_session: true };
  const workflow_id = await create('/api/workflows', { agent_id, ...settings });
  const thread_id = await create('/api/threads', { workflow_id });
  const database = new pg.Client(installation.database_url);
  await database.connect();
  const connection = await Connection.connect({ address: installation.temporal_address });
  try {
    const found: TurnCosts[] = [];
    for (let turn = 1; turn <= turns; turn += 1) {
      const is_measured = GROUPS.some((start) => turn === start + 1) || turn === turns - GROUP + 1;
      if (!is_measured) {
        await run(workflow_id, PROMPT, { thread_id });
        continue;
      }
      const times: number[] = [];
      for (let count = 0; count < GROUP; count += 1) {
        const start = performance.now();
        await run(workflow_id, PROMPT, { thread_id });
        times.push(performance.now() - start);
      }
      found.push({
        from: turn,
        to: turn + GROUP - 1,
        ms: spreadOf(times),
        history_bytes: spreadOf(await readHistories(database, new Client({ connection }), thread_id)),
      });
      turn += GROUP - 1;
    }
    return found;
  } finally {
    await connection.close();
    await database.end();
  }
}

const GROUPS = [10, 190];

/** Returns the sizes of the histories of the newest turns. */
async function readHistories(database: pg.Client, engine: Client, thread_id: string): Promise<number[]> {
  const newest = 'SELECT id FROM tasks WHERE thread_id = $1 ORDER BY id DESC LIMIT $2';
  const { rows } = await database.query<{ id: string }>(newest, [thread_id, GROUP]);
  const sizes = rows.map(({ id }) => engine.workflow.getHandle(toRunId(id)).describe());
  return (await Promise.all(sizes)).map(({ historySize = 0 }) => historySize);
}
