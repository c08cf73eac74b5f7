import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { metricsRoute } from '../../../src/api/service/metrics.ts';
import { buildWorkerApp } from '../../../src/api/service/worker-app.ts';
import { hostRule } from '../../../src/domain/hosts.ts';
import type { StreamBudget } from '../../../src/events/waiting.ts';

interface Scene {
  metrics_token?: string | null;
  hosts?: boolean;
  check?: () => Promise<string>;
}
const open = ({ metrics_token = null, hosts = false, check = async () => 'fine' }: Scene = {}) =>
  buildWorkerApp(
    {
      ...{ checks: { engine: check }, runner: { isolation: 'namespaces' as never } },
      metrics: [async () => 'perdura_of_this_test 7', async () => 'perdura_of_another 11\n'],
    },
    {
      metrics_token,
      request_seconds: 5,
      answers_to: hosts ? hostRule({ listening: '127.0.0.1', names: ['worker.example'] }) : null,
    },
  );
type Ask = { headers?: Record<string, string>; remoteAddress?: string };
const ask = async (url: string, scene?: Scene, more: Ask = {}) => {
  const { statusCode, body, headers } = await open(scene).inject({ url, ...more });
  return { status: statusCode, body, headers };
};

describe('the server of a worker', () => {
  it('lives while it answers, and is ready while its checks pass', async () => {
    const down = async () => Promise.reject(new Error('The engine is down'));
    expect(await ask('/health/live', { check: down })).toMatchObject({ status: 200, body: '{"status":"live"}' });
    expect((await ask('/health/ready')).status).toBe(200);
    const { status, body } = await ask('/health/ready', { check: down });
    expect([status, JSON.parse(body).checks]).toEqual([503, { engine: { ok: false, detail: 'The engine is down' } }]);
  });

  it('serves nothing else, and refuses in the form of the API', async () => {
    for (const url of ['/api/agents', '/openapi.json', '/dashboard', '/']) {
      const { status, body, headers } = await ask(url, {}, { headers: { 'x-request-id': 'mine' } });
      expect([url, status, JSON.parse(body).code, headers['x-request-id']]).toEqual([url, 404, 'not_found', 'mine']);
      expect(headers['content-type']).toContain('application/problem+json');
    }
  });

  it('answers to its own names alone', async () => {
    const statuses = ['worker.example', 'rebound.example'].map(
      async (host) => (await ask('/health/live', { hosts: true }, { headers: { host } })).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 421]);
    expect((await ask('/health/live', {}, { headers: { host: 'rebound.example' } })).status).toBe(200);
  });

  it('shows its metrics to this machine, or to a request with the token', async () => {
    const { status, body } = await ask('/metrics');
    expect(status).toBe(200);
    for (const line of ['perdura_of_this_test 7', 'perdura_of_another 11', 'process_cpu_seconds_total'])
      expect(body).toContain(line);
    expect(body).not.toMatch(/perdura_streams_open|nodejs_active_handles_total/);
    const from = async (more: Ask, scene?: Scene) => (await ask('/metrics', scene, more)).status;
    expect(await from({ remoteAddress: '10.0.0.7' })).toBe(403);
    expect(await Promise.all(['::1', '::ffff:127.0.0.1', '127.9.9.9'].map((remoteAddress) => from({ remoteAddress })))).toEqual([
      200, 200, 200,
    ]);
    for (const name of ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'])
      expect(await from({ headers: { [name]: '127.0.0.1' } }), name).toBe(403);
    const scene = { metrics_token: 'open-sesame' };
    const bearer = (authorization: string) => from({ headers: { authorization }, remoteAddress: '10.0.0.7' }, scene);
    expect([
      await from({}, scene),
      await bearer('Bearer open-sesam'),
      await bearer('open-sesame'),
      await bearer('Bearer open-sesame'),
    ]).toEqual([401, 401, 401, 200]);
  });
});

it('the metrics of a process with streams have their number and what waits for them', async () => {
  const http = Fastify();
  const waiting = { streams: () => 7, bytes: () => 11 } as unknown as StreamBudget;
  metricsRoute(http, { token: null, waiting, sources: [] });
  const lines = (await http.inject('/metrics')).body.split('\n');
  expect(lines.filter((line) => line.startsWith('perdura_stream'))).toEqual([
    'perdura_streams_open 7',
    'perdura_stream_bytes_waiting 11',
  ]);
});
