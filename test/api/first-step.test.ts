import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NEWEST } from '../../src/domain/memory.ts';
import { contextPorts } from '../../src/main/wiring/runs/context.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here.stop());

const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const LIVES = { forever: null, alive: inMinutes(10), expired: inMinutes(-1) };
const PLACES = ['global', 'agent', 'session of the run', 'session of another workflow'] as const;

/** A pending run of alice, and its agent. */
async function pending(workflow: object = {}) {
  const workflow_id = await here.workflow({ workflow });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  return { workflow_id, agent_id: agent_id as string, task_id: await here.prompt(workflow_id) };
}

interface Kept {
  agent_id: string;
  scope: string;
  workflow_id?: string;
  key: string;
  ttl?: string | null;
  created_by?: string;
  updated_at?: Date;
}

const keep = ({
  agent_id,
  scope,
  workflow_id = '',
  key,
  ttl = null,
  created_by = 'local:alice',
  updated_at = new Date(),
}: Kept) =>
  sql(
    `INSERT INTO memories (id, agent_id, scope, workflow_id, key, value, ttl, created_by, updated_at)
      VALUES (gen_random_uuid(), $1, $2, $3, $4, 'value of ' || $4, $5, $6, $7)`,
    ...[agent_id, scope, workflow_id, key, ttl, created_by, updated_at],
  );

async function recallFor(task_id: string) {
  const { runs, definitions } = here.core.store;
  const run = (await runs.open(task_id, 1))!;
  const recalled = await contextPorts(here.core).recall(run, await definitions.get(run.definition_hash));
  return recalled.map(({ key, value }) => ({ key, value }));
}

describe('The memories that a first step is given', () => {
  it('are those shared by all agents, those of its agent, and those of its workflow, unless they have expired', async () => {
    const { workflow_id, agent_id, task_id } = await pending();
    const other = await pending();
    const seen: string[] = [];
    for (const place of PLACES)
      for (const [life, ttl] of Object.entries(LIVES))
        for (const created_by of ['local:alice', 'local:bob'])
          for (const its of [agent_id, other.agent_id]) {
            const key = [place, life, created_by, its].join(' ');
            const [scope = ''] = place.split(' ');
            const home = { global: '', agent: '', session: place.endsWith('run') ? workflow_id : other.workflow_id };
            await keep({ agent_id: its, scope, workflow_id: home[scope as keyof typeof home], key, ttl, created_by });
            const is_seen = place === 'global' || (its === agent_id && !place.endsWith('another workflow'));
            if (is_seen && life !== 'expired') seen.push(key);
          }
    const recalled = await recallFor(task_id);
    expect(recalled.map(({ key }) => key).sort()).toEqual(seen.sort());
    expect(recalled).toEqual(recalled.map(({ key }) => ({ key, value: `value of ${key}` })));
    await sql('DELETE FROM memories');
  });

  it('are the newest ones, the newest first', async () => {
    const { agent_id, task_id } = await pending();
    const days = Array.from({ length: NEWEST + 5 }, (_, index) => index);
    for (const day of days.toSorted((a, b) => ((a * 7) % 25) - ((b * 7) % 25)))
      await keep({ agent_id, scope: 'agent', key: `day ${day}`, updated_at: new Date(Date.UTC(2026, 0, 1 + day)) });
    const expected = days.toReversed().slice(0, NEWEST);
    expect((await recallFor(task_id)).map(({ key }) => key)).toEqual(expected.map((day) => `day ${day}`));
  });
});
