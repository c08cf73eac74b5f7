import { randomBytes } from 'node:crypto';
import { expect, inject, it } from 'vitest';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/names.ts';
import { testDatabase, unmigratedDatabase } from '../support/database/database.ts';
import { perdura } from '../support/machine/processes.ts';

const attributes = SEARCH_ATTRIBUTES.map((name) => `the search attribute ${name}`).join(', ');

/** What `perdura migrate` prints with these settings, and its exit code. */
async function migrate(env: Record<string, string>, args: string[] = []): Promise<{ code: unknown; output: string }> {
  const command = perdura('migrate', env, args);
  const [code] = (await command.closed) as [number | null];
  return { code, output: command.output() };
}

it('registers the namespace and its search attributes, once', async () => {
  const { url, drop } = await testDatabase();
  const namespace = `made-${randomBytes(4).toString('hex')}`;
  const env = { DATABASE_URL: url, TEMPORAL_ADDRESS: inject('temporal_address'), TEMPORAL_NAMESPACE: namespace };
  expect(await migrate(env)).toEqual({
    code: 0,
    output: `Nothing to apply\nRegistered in Temporal: the namespace ${namespace}, ${attributes}\n`,
  });
  expect(await migrate(env)).toEqual({ code: 0, output: 'Nothing to apply\nTemporal is prepared\n' });
  const { output } = await migrate(env, ['--json']);
  expect(JSON.parse(output)).toEqual({ applied: [], temporal: [] });
  const { TEMPORAL_ADDRESS: _, ...alone } = env;
  expect(JSON.parse((await migrate(alone, ['--json'])).output)).toEqual({ applied: [], temporal: null });
  await drop();
});

it('applies the migrations of a new database, and names them', async () => {
  const { url, drop } = await unmigratedDatabase();
  const { code, output } = await migrate({ DATABASE_URL: url });
  await drop();
  expect(code).toBe(0);
  expect(output).toMatch(/^Applied: \d{14}_\w+(?:, \d{14}_\w+)*\n$/);
});
