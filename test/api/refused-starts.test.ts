import { randomBytes } from 'node:crypto';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { perdura } from '../support/machine/processes.ts';
import { someOf } from '../support/some-of.ts';

const key = () => randomBytes(32).toString('base64');

let here: TestInstallation;
let home: string;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'SEALED', value: 'a value that a key opens' }), 201);
  home = await mkdtemp(join(tmpdir(), 'perdura-refused-'));
});
afterAll(async () => {
  await here.stop();
  await rm(home, { recursive: true, force: true });
});

async function query(sql: string, values: unknown[] = []): Promise<void> {
  const client = new pg.Client(here.setting.database_url);
  await client.connect();
  try {
    await client.query(sql, values);
  } finally {
    await client.end();
  }
}

/** What a command that does not start prints, without the notes of Node itself. */
async function refusal(command: string, env: Record<string, string>): Promise<string> {
  const child = perdura(command, {
    ...{ DATABASE_URL: here.setting.database_url, TEMPORAL_ADDRESS: here.setting.temporal_address },
    ...{ PERDURA_HOME: home, PERDURA_PORT: '0', PERDURA_HOST: '127.0.0.1', IDENTITY_PROVIDERS: 'local' },
    ...env,
  });
  const [code] = (await child.ended) as [number];
  expect(code, child.output()).toBe(1);
  return child.output();
}

const STARTS = someOf(['api', 'dev', 'doctor', 'worker', 'migrate', 'rotate-keys'], 3);

describe('the keys that sealed data needs', { timeout: 120_000 }, () => {
  afterEach(() => rm(join(home, 'encryption-key'), { force: true }));

  it.each(STARTS)('%s does not start with another key of the same name, and names ENCRYPTION_KEYS', async (command) => {
    expect(await refusal(command, { ENCRYPTION_KEYS: `test:${key()}` })).toMatch(
      /^.*The key "test" is not the one that values in the database are sealed with\. Restore it in ENCRYPTION_KEYS/m,
    );
  });

  it.each(['worker', 'rotate-keys'])('%s does not start without the key, and changes nothing', async (command) => {
    expect(await refusal(command, { ENCRYPTION_KEYS: `other:${key()}` })).toMatch(
      /The database holds values sealed with the key "test", which is missing\. Restore it in ENCRYPTION_KEYS/,
    );
    expect((await here.alice.get('/api/tokens')).status).toBe(200);
  });

  it.each(['api', 'dev'])('%s makes no key file where one is missing', async (command) => {
    expect(await refusal(command, { ENCRYPTION_KEYS: '' })).toContain(
      `The key file ${home}/encryption-key is missing, and the database holds values sealed with its key`,
    );
    await expect(access(join(home, 'encryption-key'))).rejects.toThrow('ENOENT');
  });

  it.each(['api', 'dev'])('%s names a key file that holds another key, and leaves it as it is', async (command) => {
    const other = key();
    await writeFile(join(home, 'encryption-key'), other, { mode: 0o600 });
    expect(await refusal(command, { ENCRYPTION_KEYS: '' })).toContain(`Restore it in the key file ${home}/encryption-key`);
    expect(await readFile(join(home, 'encryption-key'), 'utf8')).toBe(other);
  });

  it('after a rotation the key of before is not needed, and the new one is', async () => {
    const [before, after] = [here.setting.encryption_keys, `fresh:${key()}`];
    const env = { DATABASE_URL: here.setting.database_url, ENCRYPTION_KEYS: `${after},${before}` };
    expect(((await perdura('rotate-keys', env).ended) as [number])[0]).toBe(0);
    expect(await refusal('worker', { ENCRYPTION_KEYS: before })).toContain('sealed with the key "fresh", which is missing');
    expect(((await perdura('migrate', { ...env, ENCRYPTION_KEYS: after }).ended) as [number])[0]).toBe(0);
    const again = perdura('rotate-keys', env, ['--json']);
    expect(((await again.ended) as [number])[0]).toBe(0);
    expect(JSON.parse(again.output())).toMatchObject({ key_id: 'fresh', tokens: 0, schedules: 0, runs: 0, webhook_secrets: 0 });
  });
});

describe('a database of another version', { timeout: 120_000 }, () => {
  const env = () => ({ ENCRYPTION_KEYS: here.setting.encryption_keys });
  const LATER = '20990101000000_later';
  afterEach(() => query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [LATER]));

  it.each(STARTS)('%s does not start on a newer one', async (command) => {
    await query("INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'y', $1, now())", [
      LATER,
    ]);
    expect(await refusal(command, env())).toContain(
      `The database schema is newer than this version of Perdura, which does not work with its migration ${LATER}`,
    );
    const { status, body } = await here.anonymous.get('/health/ready');
    expect([status, body.checks.migrations]).toMatchObject([503, { ok: false, detail: expect.stringContaining(LATER) }]);
  });

  it.each(['worker', 'rotate-keys'])('%s does not start on an older one', async (command) => {
    await query("UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name LIKE '%_initial'");
    try {
      expect(await refusal(command, env())).toMatch(
        /The database schema is older than this version of Perdura.*Run perdura migrate/,
      );
      const { status, body } = await here.anonymous.get('/health/ready');
      expect([status, body.checks.migrations.detail]).toEqual([503, expect.stringContaining('_initial')]);
    } finally {
      await query('UPDATE _prisma_migrations SET rolled_back_at = NULL');
    }
  });
});
