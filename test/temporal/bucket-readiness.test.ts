import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { envOf, perdura } from '../support/machine/processes.ts';
import { type FaultyPeer, type PeerFault, s3Refusal, startFaultyPeer } from '../support/peers/faulty-peer.ts';
import { startObjectStore } from '../support/peers/object-store.ts';
import { until } from '../support/until.ts';

const endings: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of endings.splice(0).reverse()) await end();
}, 60_000);

let here: TestInstallation;
let peer: FaultyPeer;
let env: Record<string, string>;
let worker_url: string;
beforeAll(async () => {
  const store = await startObjectStore();
  endings.push(() => store.stop());
  peer = await startFaultyPeer({ name: '127.0.0.1', target: new URL(store.env.S3_ENDPOINT!).host });
  endings.push(() => peer.stop());
  env = { ...store.env, S3_ENDPOINT: `http://${peer.host}` };
  here = await startTestInstallation({ worker: false, env });
  endings.push(() => here.stop());
  const worker = perdura('worker', { ...envOf(here.setting), ...env, WORKER_PORT: '0', PERDURA_HOST: '127.0.0.1' });
  endings.push(() => worker.end('SIGKILL'));
  await worker.prints(/takes work/);
  worker_url = /metrics of the worker at (\S+)/.exec(worker.output())![1]!;
}, 120_000);

type Ready = { status: number; bucket: { ok: boolean; detail: string } | undefined };

async function readyAt(url: string): Promise<Ready> {
  const reply = await fetch(`${url}/health/ready`);
  const { checks } = (await reply.json()) as { checks: Record<string, Ready['bucket']> };
  return { status: reply.status, bucket: checks.bucket };
}

async function doctor(): Promise<{ code: unknown; bucket: unknown }> {
  const child = perdura('doctor', { ...envOf(here.setting), ...env }, ['--json']);
  const code = await child.closed;
  const checks = JSON.parse(child.output()) as { check: string; ok: boolean; detail: string }[];
  return { code, bucket: checks.find(({ check }) => check === 'bucket') };
}

const FAULTS: [string, PeerFault, RegExp][] = [
  ['a closed port', { at: 'port' }, /^The object store \S+ is unreachable: .*ECONNREFUSED.* \(S3_ENDPOINT\)$/],
  ['silence', { at: 'silence' }, /^The object store \S+ is unreachable: .* \(S3_ENDPOINT\)$/],
  ['answers that break off', { at: 'middle' }, /^The object store \S+ is unreachable: .* \(S3_ENDPOINT\)$/],
  [
    'keys that it does not know',
    { at: 'answer', by: s3Refusal(403, 'InvalidAccessKeyId') },
    /403 InvalidAccessKeyId \(S3_BUCKET, S3_ACCESS_KEY_ID\)$/,
  ],
  ['no such bucket', { at: 'answer', by: s3Refusal(404, 'NoSuchBucket') }, /404 NoSuchBucket \(S3_BUCKET, S3_ACCESS_KEY_ID\)$/],
  ['a store that is overloaded', { at: 'answer', by: s3Refusal(503, 'SlowDown') }, /503 SlowDown \(S3_ENDPOINT\)$/],
];

it('a bucket that serves is ready everywhere', { timeout: 60_000 }, async () => {
  const served = { status: 200, bucket: { ok: true, detail: 'answers' } };
  expect(await Promise.all([here.url, worker_url].map(readyAt))).toEqual([served, served]);
  expect(await doctor()).toEqual({ code: [0, null], bucket: { check: 'bucket', ok: true, detail: 'answers' } });
});

it.each(FAULTS)(
  '%s: a worker is not ready, the API is, and both name the reason',
  { timeout: 60_000 },
  async (_, fault, cause) => {
    await peer.fail(fault);
    try {
      expect(await readyAt(worker_url)).toEqual({ status: 503, bucket: { ok: false, detail: expect.stringMatching(cause) } });
      expect(await readyAt(here.url)).toEqual({ status: 200, bucket: { ok: true, detail: expect.stringMatching(cause) } });
    } finally {
      await peer.fail(null);
    }
    await until('the worker is ready again', async () => (await readyAt(worker_url)).status === 200);
  },
);

it('doctor fails while the bucket does not serve', { timeout: 60_000 }, async () => {
  await peer.fail({ at: 'port' });
  try {
    const { code, bucket } = await doctor();
    expect(code).toEqual([1, null]);
    expect(bucket).toMatchObject({ ok: false, detail: expect.stringContaining('(S3_ENDPOINT)') });
  } finally {
    await peer.fail(null);
  }
});

it('an installation without a bucket has no such check', async () => {
  const without = await startTestInstallation({ worker: false });
  try {
    expect((await readyAt(without.url)).bucket).toBeUndefined();
  } finally {
    await without.stop();
  }
});
