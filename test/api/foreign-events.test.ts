import pg from 'pg';
import { expect, it } from 'vitest';
import { agedRecords } from '../support/database/aged.ts';
import { startTestInstallation } from '../support/installation.ts';

it.each([
  ['of an unknown name', { event: 'of_later', detail: '' }, 'log of_later: there is no such event'],
  ['with a field too many', { event: 'completed', detail: '', nmae: 'x' }, 'nmae'],
  ['without one of its fields', { event: 'model_call', detail: '' }, 'at step'],
])('a test file fails if it leaves an event %s', async (_, data, message) => {
  const here = await startTestInstallation({ worker: false });
  const pool = new pg.Pool({ connectionString: here.setting.database_url });
  const at = new Date();
  const task_id = await agedRecords({ pool }).task(at);
  await agedRecords({ pool }).events(at, task_id);
  await pool.query('UPDATE events SET data = $1', [data]);
  await pool.end();
  await expect(here.stop()).rejects.toThrow(message);
});
