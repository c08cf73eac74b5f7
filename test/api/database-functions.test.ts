import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';

const FOLDER = new URL('../../prisma/functions/', import.meta.url).pathname;

let place: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  place = await testDatabase();
  client = new pg.Client(place.url);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await place.drop();
});

const files = readdirSync(FOLDER, { recursive: true })
  .map(String)
  .filter((path) => path.endsWith('.sql'))
  .sort()
  .map((path) => ({ path, sql: readFileSync(join(FOLDER, path), 'utf8') }));

interface Defined {
  /** With the types of its parameters. */
  signature: string;
  name: string;
  definition: string;
  body: string;
}

/** Functions and procedures of the schema, without those of extensions. */
async function functions(): Promise<Defined[]> {
  const { rows } = await client.query<Defined>(
    `SELECT p.oid::regprocedure::text AS signature, proname AS name, pg_get_functiondef(p.oid) AS definition, prosrc AS body FROM pg_proc p
     WHERE pronamespace = 'public'::regnamespace AND prokind IN ('f', 'p')
       AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY 1`,
  );
  return rows;
}

async function triggers(): Promise<string[]> {
  const { rows } = await client.query<{ definition: string }>(
    `SELECT pg_get_triggerdef(t.oid) AS definition FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE NOT tgisinternal AND c.relnamespace = 'public'::regnamespace ORDER BY 1`,
  );
  return rows.map(({ definition }) => definition);
}

/** The definitions that a migrated database has, and those that it has when each function is made from its file alone. */
async function compared() {
  const migrated = { functions: await functions(), triggers: await triggers() };
  await client.query('BEGIN');
  try {
    for (const { signature } of migrated.functions) await client.query(`DROP FUNCTION ${signature} CASCADE`);
    // A function may call one whose file comes later.
    await client.query('SET LOCAL check_function_bodies = off');
    for (const { sql } of files) await client.query(sql);
    return { migrated, made: { functions: await functions(), triggers: await triggers() } };
  } finally {
    await client.query('ROLLBACK');
  }
}

it('prisma/functions holds the functions and triggers that the migrations make, and no others', async () => {
  const { migrated, made } = await compared();
  const definitions = (of: typeof made) => of.functions.map(({ definition }) => definition);
  expect(made.functions.map(({ signature }) => signature)).toEqual(migrated.functions.map(({ signature }) => signature));
  expect(definitions(made)).toEqual(definitions(migrated));
  expect(made.triggers).toEqual(migrated.triggers);
});

it('each file makes the one function that it is named after, and says what it locks', () => {
  for (const { path, sql } of files) {
    const created = [...sql.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)\(/gm)].map(([, name]) => name);
    expect(created, path).toEqual([basename(path, '.sql')]);
    expect(sql, `${path} begins with its contract`).toMatch(/^-- [\s\S]*\n-- Locks: /);
  }
});

it('no function holds a sentence: what models and people read is written in TypeScript', async () => {
  const literals = (sql: string) => [...sql.replaceAll(/--.*/g, '').matchAll(/'(?:[^']|'')*'/g)].map(([text]) => text);
  // A statement that a function carries out begins with words in capitals.
  const sentences = (sql: string) => literals(sql).filter((text) => /\w+ \w+ \w+/.test(text) && !/^'\^?[A-Z]{3,} /.test(text));
  expect(files.flatMap(({ sql }) => sentences(sql))).toEqual([]);
  expect(sentences("RETURN 'The run ended before it.'")).toEqual(["'The run ended before it.'"]);
});
