import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toReplyId } from '../../src/domain/chat-turns.ts';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { chatStore } from '../../src/store/runs/chats.ts';
import { unmigratedDatabase } from '../support/database/database.ts';

/*
 * Chats as releases before threads stored them, in a database that is then migrated.
 */

const MIGRATION = '20261202000140_chats_are_threads';
let pool: pg.Pool;
let chats: ReturnType<typeof chatStore>;
const endings: (() => Promise<unknown>)[] = [];
const id = (name: string) => `0197a0c4-7d6b-7${name.padStart(3, '0')}-9a41-2f6f5a0f8b11`;
const AT = '2026-03-01T10:00:';

beforeAll(async () => {
  const { url, drop } = await unmigratedDatabase();
  pool = new pg.Pool({ connectionString: url, max: 2 });
  endings.push(drop, () => pool.end());
  const folder = await mkdtemp(join(tmpdir(), 'perdura-migrations-'));
  endings.push(() => rm(folder, { recursive: true, force: true }));
  await cp(MIGRATIONS, folder, { recursive: true });
  for (const name of await readdir(folder))
    if (/^\d/.test(name) && name >= MIGRATION) await rm(join(folder, name), { recursive: true });
  await applyMigrations(url, folder);
  await writeEarlierChats();
  await applyMigrations(url, MIGRATIONS);
  chats = chatStore(pool);
});
afterAll(async () => {
  for (const end of endings.toReversed()) await end();
});

async function writeEarlierChats(): Promise<void> {
  await pool.query(`INSERT INTO principals (id, provider, subject, login) VALUES ('github:17', 'github', '17', 'alice')`);
  await pool.query(
    `INSERT INTO providers (id, name, provider_type, default_model, created_by, updated_at) VALUES ($1, 'scripted', 'openai', 'm-7', 'github:17', now())`,
    [id('a')],
  );
  for (const [agent_id, name, provider_id] of [
    [id('b'), 'Ada', id('a')],
    [id('c'), 'Bea', null],
  ])
    await pool.query(
      `INSERT INTO agents (id, name, system_prompt, provider_id, created_by, updated_at) VALUES ($1, $2, 'Be kind.', $3, 'github:17', now())`,
      [agent_id, name, provider_id],
    );
  const session = (session_id: string, agent_id: string, owner: string, title: string) =>
    pool.query(`INSERT INTO chat_sessions (id, agent_id, owner, title, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)`, [
      session_id,
      agent_id,
      owner,
      title,
      `${AT}00Z`,
    ]);
  await session(id('10'), id('b'), 'github:17', 'The whole one');
  await session(id('20'), id('b'), 'github:19', 'The early one');
  await session(id('30'), id('c'), 'github:17', 'The empty one');
  await session(id('40'), id('c'), 'github:17', 'The lost one');
  const message = (session_id: string, message_id: string, second: number, values: object) => {
    const row = { id: message_id, session_id, created_at: `${AT}${String(second).padStart(2, '0')}Z`, ...values };
    const columns = Object.keys(row);
    return pool.query(
      `INSERT INTO chat_messages (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
      Object.values(row),
    );
  };
  const user = (content: string, more: object = {}) => ({ role: 'user', content, ...more });
  const reply = (content: string, more: object) => ({ role: 'assistant', content, ...more });
  // The second question was asked before the first reply was stored.
  await message(id('10'), id('11'), 1, user('One?'));
  await message(id('10'), id('12'), 2, user('Two?'));
  await message(id('10'), id('13'), 3, reply('1.', { question_id: id('11'), prompt_tokens: 11, completion_tokens: 3 }));
  await message(
    id('10'),
    id('14'),
    4,
    reply('2.', { question_id: id('12'), prompt_tokens: 13, completion_tokens: 5, truncated: true }),
  );
  await message(id('10'), id('15'), 5, user('Three?', { reply_error: 'The model failed' }));
  // No reply named its question then.
  await message(id('20'), id('21'), 1, user('Early?'));
  await message(id('20'), id('22'), 2, reply('Yes.', { prompt_tokens: 7, completion_tokens: 2, estimated: true }));
  await message(id('40'), id('41'), 1, user('Lost?', { reply_until: '2999-01-01T00:00:00Z' }));
}

const shown = async (session_id: string) =>
  (await chats.listMessages(session_id)).messages.map(({ id: message_id, content, usage, truncated, error }) => [
    ...[message_id, content, usage, truncated, error],
  ]);

describe('a chat of an earlier release', () => {
  it('is a thread with the same id and owner, whose messages have their ids, replies and usage', async () => {
    expect(await chats.find(id('10'))).toMatchObject({
      ...{ owner: 'github:17', agent_id: id('b'), title: 'The whole one', message_count: 5 },
      created_at: `${AT}00.000Z`,
    });
    expect(await shown(id('10'))).toEqual([
      [id('11'), 'One?', null, false, null],
      [toReplyId(id('11')), '1.', { prompt_tokens: 11, completion_tokens: 3 }, false, null],
      [id('12'), 'Two?', null, false, null],
      [toReplyId(id('12')), '2.', { prompt_tokens: 13, completion_tokens: 5 }, true, null],
      [id('15'), 'Three?', null, false, 'The model failed'],
    ]);
  });

  it('of which no reply names its message has each reply behind its message', async () => {
    expect(await shown(id('20'))).toEqual([
      [id('21'), 'Early?', null, false, null],
      [toReplyId(id('21')), 'Yes.', { prompt_tokens: 7, completion_tokens: 2, estimated: true }, false, null],
    ]);
    const { rows } = await pool.query('SELECT owner_login FROM threads WHERE id = ANY ($1) ORDER BY id', [[id('10'), id('20')]]);
    expect(rows).toEqual([{ owner_login: 'alice' }, { owner_login: '19' }]);
  });

  it('without a message is an empty thread, and a reply that was in progress is lost', async () => {
    expect(await chats.find(id('30'))).toMatchObject({ title: 'The empty one', message_count: 0 });
    expect(await chats.listMessages(id('30'))).toEqual({ messages: [], reply: null });
    expect(await chats.listMessages(id('40'))).toMatchObject({
      messages: [{ role: 'user', content: 'Lost?', error: expect.stringContaining('Send the message again') }],
      reply: null,
    });
  });

  it('is read by the next turn, with the model that has answered', async () => {
    const next = id('99');
    await pool.query(
      `INSERT INTO tasks (id, workflow_id, owner, owner_login, definition_hash, agent_id, agent_name, prompt, thread_id, previous_task_id, thread_turn)
       SELECT $1, workflow_id, owner, owner_login, definition_hash, agent_id, agent_name, 'Next?', thread_id, id, 4 FROM tasks WHERE id = $2`,
      [next, id('15')],
    );
    const { rows } = await pool.query('SELECT earlier_messages($1, false) AS earlier', [next]);
    expect(rows[0].earlier.map(({ turn, content, model }: any) => [turn, content, model])).toEqual([
      ...[1, 1, 2, 2, 3].map((turn, index) => [turn, ['One?', '1.', 'Two?', '2.', 'Three?'][index], 'm-7']),
    ]);
    await pool.query('DELETE FROM tasks WHERE id = $1', [next]);
  });

  it('is kept as if it had been used at the upgrade, is not counted as usage, and its tables are gone', async () => {
    const { rows: threads } = await pool.query(
      `SELECT count(*)::int AS old FROM threads WHERE updated_at < now() - interval '1 hour'`,
    );
    expect(threads).toEqual([{ old: 0 }]);
    const { rows: tasks } = await pool.query('SELECT count(*)::int AS counted, bool_and(usage_counted) AS all_are FROM tasks');
    expect(tasks).toEqual([{ counted: 5, all_are: true }]);
    const { rows: tables } = await pool.query(`SELECT tablename FROM pg_tables WHERE tablename LIKE 'chat%'`);
    expect(tables).toEqual([]);
  });
});
