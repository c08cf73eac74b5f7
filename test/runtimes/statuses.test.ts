import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PinnedProvider } from '../../src/domain/definition.ts';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import { selectRuntime } from '../../src/runtimes/select.ts';
import { caller, DIRECT, exchangeOf, providerOf } from './support.ts';

let server: Server;
let url: string;
/** Answers every request with the status that its path begins with. */
beforeAll(async () => {
  server = createServer((request, response) => {
    const status = Number(request.url!.split('/')[1]);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `says ${status}`, type: 'scripted', code: null } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

/** Each way to reach a model, at an address that always answers with one status. */
const PROVIDERS: Record<string, (at: string) => { provider: Partial<PinnedProvider> | null; vendor_url?: string }> = {
  'an endpoint like that of OpenAI': (at) => ({ provider: { provider_type: 'openai_compatible', base_url: `${at}/v1` } }),
  Azure: (at) => ({
    provider: { provider_type: 'azure_openai', base_url: at, azure_deployment: 'd', azure_api_version: '2026-01-01' },
  }),
  'an endpoint like that of Anthropic': (at) => ({ provider: { provider_type: 'anthropic_messages', base_url: at } }),
  'sessions of Anthropic': (at) => ({ provider: { provider_type: 'anthropic' }, vendor_url: at }),
  'the default runtime': () => ({ provider: null }),
};

async function failWith(kind: string, status: number) {
  const { provider, vendor_url } = PROVIDERS[kind]!(`${url}/${status}`);
  const pinned = provider && providerOf({ api_key_token_name: 'key', ...provider });
  const default_runtime = { base_url: `${url}/${status}/v1`, model: 'scripted' };
  const options = { default_runtime, vendor_url, ...DIRECT };
  const { runtime } = await selectRuntime({ provider: pinned, tools: [] }, caller, options);
  const error = await runtime
    .exchange(exchangeOf(), () => {}, new AbortController().signal)
    .then(
      () => new Error('the exchange succeeded'),
      (reason: unknown) => reason,
    );
  if (!(error instanceof ModelFailure)) throw error;
  return { code: error.code, recoverable: error.recoverable, status: error.status };
}

/** Every status but 407, for which `fetch` returns no answer: it takes it for a failure of the network. */
const ALL = Array.from({ length: 200 }, (_, index) => 400 + index).filter((status) => status !== 407);
const CODES: Record<number, string> = {
  ...{ 401: 'model_unauthorized', 402: 'quota_exhausted', 403: 'model_unauthorized', 404: 'unknown_model' },
  ...{ 413: 'context_window_full', 429: 'rate_limited' },
};
/** A time-out, a conflict and a limit pass; what a request is to blame for does not. */
const PASSING = [408, 409, 429];

describe.each(Object.keys(PROVIDERS))('%s', (kind) => {
  it('fails with one code for each status, and is asked again after those that pass', async () => {
    const seen = await Promise.all(ALL.map((status) => failWith(kind, status)));
    expect(seen).toEqual(
      ALL.map((status) => ({
        code: CODES[status] ?? 'model_error',
        recoverable: PASSING.includes(status) || status >= 500,
        status,
      })),
    );
  });
});
