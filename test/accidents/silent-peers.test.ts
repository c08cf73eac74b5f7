import { afterEach, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { installationBehindProxy } from '../support/peers/behind-proxy.ts';
import { startDroppingProxy, throughProxy } from '../support/peers/dropping-proxy.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { redisIsInstalled, redisServer } from '../support/peers/redis.ts';
import { PATIENCE_MS, startWatchedRun, WATCHED_TEXT, WHOLE } from '../support/runs/watched-run.ts';
import { until } from '../support/until.ts';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

describe('while the database is silent', () => {
  it('on all connections, requests are refused; then runs continue, and every stream ends complete', {
    timeout: 180_000,
  }, async () => {
    const { here, proxy } = await installationBehindProxy(endings);
    const { workflow_id, seen, task_id } = await startWatchedRun(here);
    proxy.silence({ fresh: true });
    const answer = await here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'Now?' });
    expect([answer.status, answer.body.code]).toEqual([503, 'database_unavailable']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await here.anonymous.get('/health/ready')).status).toBe(503);
    expect((await here.alice.get('/api/agents')).status).toBe(503);
    proxy.speak();
    expect(await here.ended(task_id, PATIENCE_MS)).toMatchObject({ status: 'completed', response: WATCHED_TEXT });
    expect(await seen()).toEqual(WHOLE);
  });

  it('on the connections that are open, they are replaced, and every stream ends with the whole text', {
    timeout: 120_000,
  }, async () => {
    const { here, proxy } = await installationBehindProxy(endings);
    const { seen, task_id } = await startWatchedRun(here);
    proxy.silence();
    expect(await seen()).toEqual(WHOLE);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: WATCHED_TEXT });
    await until('it is ready', async () => (await here.anonymous.get('/health/ready')).status === 200);
  });
});

describe.runIf(redisIsInstalled())('while Redis', { timeout: 240_000 }, () => {
  const started = async (redis_url: string) => {
    const here = await startTestInstallation({ env: { REDIS_URL: redis_url } });
    endings.push(() => here.stop());
    return here;
  };
  const server = async (options?: { started: boolean }) => {
    const redis = await redisServer(options);
    endings.push(() => redis.stop());
    return redis;
  };
  const busIsReady = (here: TestInstallation) =>
    until('the bus is ready', async () => (await here.anonymous.get('/health/ready')).body.checks.bus.ok);

  /** Runs, streams and halts as ever. `harm` happens while text is streamed. */
  async function serves(here: TestInstallation, harm: () => unknown = () => {}) {
    const { seen, task_id } = await startWatchedRun(here);
    await harm();
    expect(await seen()).toEqual(WHOLE);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    const workflow_id = await here.workflow();
    here.model.script(hangs('Half'), says('Next.'));
    const halted = await here.prompt(workflow_id);
    const next = await here.prompt(workflow_id);
    await until('it runs', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${halted}`))).status === 'running');
    expect((await here.alice.post(`/api/tasks/${halted}/stop`)).status).toBe(202);
    expect(await here.ended(halted, PATIENCE_MS)).toMatchObject({ status: 'halted' });
    expect(await here.ended(next, PATIENCE_MS)).toMatchObject({ status: 'completed', response: 'Next.' });
  }

  it('is not there at the start, everything works; it is used once it is there', async () => {
    const redis = await server({ started: false });
    const here = await started(redis.url);
    expect((await here.anonymous.get('/health/ready')).body.checks.bus.ok).toBe(false);
    await serves(here);
    await redis.start();
    await busIsReady(here);
  });

  it('is killed, everything works; it is used again once it is back', async () => {
    const redis = await server();
    const here = await started(redis.url);
    await busIsReady(here);
    await serves(here, () => redis.stop());
    await redis.start();
    await busIsReady(here);
    await serves(here);
  });

  it('is silent, everything works; it is used again once it answers', async () => {
    const redis = await server();
    const proxy = await startDroppingProxy(redis.url);
    endings.push(() => proxy.stop());
    const here = await started(throughProxy(redis.url, proxy));
    await busIsReady(here);
    await serves(here, () => proxy.silence({ fresh: true }));
    proxy.speak();
    await busIsReady(here);
    await serves(here);
  });

  it('is frozen, everything works; it is used again once it continues', async () => {
    const redis = await server();
    const here = await started(redis.url);
    await busIsReady(here);
    await serves(here, () => redis.signal('SIGSTOP'));
    redis.signal('SIGCONT');
    await busIsReady(here);
    await serves(here);
  });

  it('is flushed, nothing is missed', async () => {
    const redis = await server();
    const here = await started(redis.url);
    await busIsReady(here);
    await serves(here, () => redis.flush());
  });
});
