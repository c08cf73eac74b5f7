import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { unmigratedDatabase } from '../support/database/database.ts';

const AS_THREADS = '20261202000152_conversations_as_threads';
const id = (number: number) => `0197a0c4-0000-7000-8000-00000000000${number}`;
const [AGENT, WORKFLOW, DONE, FAILED, CONVERSATION, FILE] = [1, 2, 3, 4, 5, 6].map(id);

it('a conversation of an older version is a thread, with the items that counted, under their ids and with their files', async () => {
  const { url, drop } = await unmigratedDatabase();
  const older = await mkdtemp(join(tmpdir(), 'perdura-older-'));
  const client = new pg.Client(url);
  try {
    const names = (await readdir(MIGRATIONS)).filter((name) => name < AS_THREADS || !name.startsWith('2'));
    for (const name of names) await cp(join(MIGRATIONS, name), join(older, name), { recursive: true });
    await applyMigrations(url, older);
    await client.connect();
    const message = (role: string, ...content: object[]) => JSON.stringify({ type: 'message', role, content });
    const seen = { type: 'input_image', file_id: FILE };
    const task = `INSERT INTO tasks (id, workflow_id, owner, owner_login, definition_hash, agent_id, agent_name, prompt, status, response)
      VALUES ($1, $2, 'local:alice', 'alice', 'h', $3, 'a', 'p', $4, $5)`;
    const item = `INSERT INTO conversation_items (id, conversation_id, position, task_id, item, created_by) VALUES ($1, $2, $3, $4, $5, 'local:alice')`;
    for (const [text, ...values] of [
      [`INSERT INTO agents (id, name, created_by) VALUES ($1, 'a', 'local:alice')`, AGENT],
      [`INSERT INTO workflows (id, agent_id, owner, owner_login) VALUES ($1, $2, 'local:alice', 'alice')`, WORKFLOW, AGENT],
      [`INSERT INTO definitions (hash, body) VALUES ('h', '{}')`],
      [task, DONE, WORKFLOW, AGENT, 'completed', '"Seven."'],
      [task, FAILED, WORKFLOW, AGENT, 'failed', null],
      [`INSERT INTO principals (id, provider, subject, login) VALUES ('local:alice', 'local', 'alice', 'Alice')`],
      [
        `INSERT INTO attachments (id, name, media_type, size, sha256, content, created_by) VALUES ($1, 'a', 'image/png', 1, 'h', 'x', 'local:alice')`,
        FILE,
      ],
      [`INSERT INTO conversations (id, metadata, created_by) VALUES ($1, '{"topic": "primes"}', 'local:alice')`, CONVERSATION],
      [item, id(7), CONVERSATION, 1, null, message('user', { type: 'input_text', text: 'I am Ann.' })],
      [item, id(8), CONVERSATION, 2, DONE, message('user', seen)],
      [item, DONE, CONVERSATION, 3, DONE, null],
      [item, id(9), CONVERSATION, 4, FAILED, message('user', { type: 'input_text', text: 'Fails.' })],
      [item, FAILED, CONVERSATION, 5, FAILED, null],
    ] as [string, ...unknown[]][])
      await client.query(text, values);
    await applyMigrations(url, MIGRATIONS);
    const { rows: threads } = await client.query(
      'SELECT id, owner, owner_login, metadata, workflow_id, head_task_id FROM threads',
    );
    expect(threads).toEqual([
      {
        ...{ id: CONVERSATION, owner: 'local:alice', owner_login: 'Alice', metadata: { topic: 'primes' } },
        ...{ workflow_id: null, head_task_id: null },
      },
    ]);
    const { rows: items } = await client.query(
      `SELECT id, item -> 'content' -> 0 AS part FROM conversation_items WHERE thread_id = $1 ORDER BY position`,
      [CONVERSATION],
    );
    expect(items).toEqual([
      { id: id(7), part: { type: 'input_text', text: 'I am Ann.' } },
      { id: id(8), part: seen },
      { id: DONE, part: { type: 'output_text', text: 'Seven.', annotations: [], logprobs: [] } },
    ]);
    expect((await client.query('SELECT item_id, attachment_id FROM conversation_files')).rows).toEqual([
      { item_id: id(8), attachment_id: FILE },
    ]);
    expect((await client.query('SELECT count(*)::int AS runs FROM tasks')).rows).toEqual([{ runs: 2 }]);
  } finally {
    await client.end();
    await drop();
    await rm(older, { recursive: true, force: true });
  }
});
