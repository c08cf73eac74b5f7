import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, envOf, perdura } from '../support/machine/processes.ts';
import { fails, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

const PRODUCTION = { NODE_ENV: 'production', LOG_LEVEL: 'info' };
/** A bucket that does not answer makes an activity log about its run. */
const BUCKET = { S3_BUCKET: 'gone', S3_ENDPOINT: 'http://127.0.0.1:9', S3_ACCESS_KEY_ID: 'x', S3_SECRET_ACCESS_KEY: 'y' };

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false, env: BUCKET });
});
afterAll(() => here.stop());

interface Line {
  time: string;
  level: string;
  msg: string;
  task_id?: string;
}

/** Throws if a line is not JSON. */
const linesOf = (process: Child): Line[] =>
  process
    .output()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

it('each line of every process is JSON in production, with the run that it is about', { timeout: 90_000 }, async () => {
  const env = { ...envOf(here.setting), ...PRODUCTION, ...BUCKET };
  const api = perdura('api', { ...env, PERDURA_HOST: '127.0.0.1', PERDURA_PORT: '0', IDENTITY_PROVIDERS: 'local' });
  const worker = perdura('worker', { ...env, WORKER_PORT: '0' });
  const broken = perdura('worker', { ...env, TEMPORAL_ADDRESS: '' });
  await Promise.all([api.prints(/"msg":"Perdura API at \S+"\}\n/), worker.prints(/takes work/), broken.closed]);
  here.model.script(fails(400), says('Done.'));
  const task_id = await here.prompt(await here.workflow());
  await here.ended(task_id);
  await until('a line of the run', async () => linesOf(worker).find((line) => line.task_id === task_id));
  const address = /API at (\S+)"/.exec(api.output())![1]!;
  await fetch(`${address}/api/me`, { headers: { 'x-request-id': 'my-request' } });
  await api.prints(/"reqId":"my-request"/);
  const lines = [...linesOf(api), ...linesOf(worker)];
  expect(lines.filter(({ time, level, msg }) => !/^\d{4}-.*Z$/.test(time) || !/^[a-z]+$/.test(level) || !msg)).toEqual([]);
  expect(linesOf(broken)).toEqual([
    expect.objectContaining({
      level: 'error',
      msg: expect.stringMatching(/^perdura worker: Set DATABASE_URL and TEMPORAL_ADDRESS/),
    }),
  ]);
  await Promise.all([api.end('SIGTERM'), worker.end('SIGTERM')]);
});
