import { isDeepStrictEqual } from 'node:util';
import type OpenAI from 'openai';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { summaryMessage } from '../../src/domain/compaction.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { openaiAt } from '../support/peers/openai.ts';

/** What this process has asked the database, each with the rows that came back. */
let sent: { statement: string; rows: number }[] = [];
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;

let here: TestInstallation;
let alice: OpenAI;
beforeAll(async () => {
  (pg.Client.prototype as { query: unknown }).query = function (this: pg.Client, ...args: unknown[]) {
    const [asked, ...rest] = args as [string | { name?: string; text?: string } | undefined, ...unknown[]];
    const { name, text } = typeof asked === 'string' ? { text: asked } : { ...asked };
    const note = (result: pg.QueryResult | undefined) =>
      sent.push({ statement: name ?? text ?? '', rows: countRows(result?.rows) });
    const callback = rest.at(-1);
    if (typeof callback === 'function') {
      const noting = (error: unknown, result: pg.QueryResult) => {
        note(result);
        callback(error, result);
      };
      return query.call(this, asked, ...rest.slice(0, -1), noting);
    }
    const result = query.apply(this, args);
    if (result instanceof Promise) result.then(note, () => {});
    return result;
  };
  // One that others have started has connections already, which were made without the note.
  here = await startTestInstallation();
  alice = openaiAt(here.url, here.people.alice.token);
});
afterAll(async () => {
  await here.stop();
  (pg.Client.prototype as { query: unknown }).query = query;
});

/** Counts rows, and the elements of lists in them: the messages that a run reads come as one list. */
function countRows(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + 1 + countRows(one), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, one) => sum + countRows(one), 0);
}

/** Ways to continue a conversation: the parameters of the first response, and of one after another. */
const WAYS = {
  previous_response_id: async () => [{}, (id: string) => ({ previous_response_id: id })] as const,
  conversation: async () => {
    const { id: conversation } = await alice.conversations.create();
    return [{ conversation }, () => ({ conversation })] as const;
  },
};

/** Makes a conversation of this many turns, the last of which has summed up those before. Returns the parameters of its next response. */
async function continueAfter(turns: number, way: keyof typeof WAYS, model: string) {
  const [begin, next] = await WAYS[way]();
  here.model.script(says('One.'), says('Two.'));
  const first = await alice.responses.create({ model, ...begin, input: 'Count.' });
  const second = await alice.responses.create({ model, ...next(first.id), input: 'And on.' });
  const last = await addTurns(second.id.slice('resp_'.length), turns);
  await here.sql(
    `INSERT INTO task_messages (task_id, step, position, role, kind, content) VALUES ($1, 0, -3, 'user', 'summary', $2)`,
    ...[last, summaryMessage('It counts.')],
  );
  return next(`resp_${last}`);
}

/** Adds turns like the second of a conversation until there are this many. Returns the id of the last. */
async function addTurns(second: string, turns: number): Promise<string> {
  if (turns === 2) return second;
  const idOf = (turn: string) =>
    `(CASE WHEN ${turn} = 2 THEN $1::text ELSE overlay(overlay(md5($1::text || ' ' || (${turn})::text) placing '7' from 13) placing '8' from 17) END)::uuid`;
  const listed = await here.sql(
    `SELECT column_name FROM information_schema.columns WHERE table_name = 'tasks' AND is_generated = 'NEVER'`,
  );
  const columns: string[] = listed.map(({ column_name }) => column_name);
  await here.sql(
    `INSERT INTO tasks (${columns.join(', ')}) SELECT ${columns.map((column) => `r.${column}`).join(', ')}
      FROM tasks t, generate_series(3, $2::int) n, jsonb_populate_record(t, jsonb_build_object(
        'id', ${idOf('n')}, 'previous_task_id', ${idOf('n - 1')}, 'thread_turn', n, 'lane_number', n)) r WHERE t.id = $1::text::uuid`,
    ...[second, turns],
  );
  await here.sql(
    `INSERT INTO task_messages SELECT r.* FROM generate_series(3, $2::int) n, task_messages m,
      jsonb_populate_record(m, jsonb_build_object('task_id', ${idOf('n')})) r WHERE m.task_id = $1::text::uuid`,
    ...[second, turns],
  );
  const [{ id }] = await here.sql(
    `UPDATE threads SET head_task_id = ${idOf('$2::int')}, accepted_tasks = $2
      WHERE id = (SELECT thread_id FROM tasks WHERE id = $1::text::uuid) RETURNING head_task_id AS id`,
    ...[second, turns],
  );
  return id;
}

/** Creates the next response after this many turns. Returns its number, and what it asked the database, with the rows that came back. */
async function respondAfter(turns: number, way: keyof typeof WAYS, model: string) {
  const place = await continueAfter(turns, way, model);
  here.model.script(says('Three.'));
  sent = [];
  const { id } = await alice.responses.create({ model, ...place, input: 'More.' });
  const asked = Object.groupBy(sent, ({ statement }) => statement);
  const counted = Object.entries(asked).map(([statement, all = []]) => [statement, all.map(({ rows }) => rows).sort()]);
  const [{ thread_turn }] = await here.sql(`SELECT thread_turn FROM tasks WHERE id = $1`, id.slice('resp_'.length));
  return { turn: thread_turn, asked: Object.fromEntries(counted) as Record<string, number[]> };
}

describe.each(Object.keys(WAYS) as (keyof typeof WAYS)[])('a response that continues by %s', (way) => {
  it('asks the database the same at turn 500 as at turn 3, and reads as many rows', async () => {
    const model = await here.workflow();
    const [early, late] = [[await respondAfter(2, way, model)], [await respondAfter(499, way, model)]];
    expect([early[0]!.turn, late[0]!.turn]).toEqual([3, 500]);
    // What the process does from time to time may fall into one of the responses.
    const alike = () => early.find(({ asked }) => late.some((one) => isDeepStrictEqual(one.asked, asked)));
    while (late.length < 10 && !alike()) {
      early.push(await respondAfter(2, way, model));
      late.push(await respondAfter(499, way, model));
    }
    expect(late.map(({ asked }) => asked)).toContainEqual((alike() ?? early.at(-1))!.asked);
    expect(late[0]!.asked).toMatchObject({ create_task: [expect.any(Number)], open_run: [expect.any(Number)] });
    expect(
      here.model.requests
        .at(-1)!
        .messages.slice(1)
        .map(({ content }) => content),
    ).toEqual([summaryMessage('It counts.'), 'And on.', 'Two.', 'More.']);
  }, 60_000);
});
