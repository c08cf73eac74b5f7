import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findKnownModel } from '../../src/domain/known-models.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type Certificates, makeCertificates } from '../support/peers/certificates.ts';
import { type CompatibleVendor, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import * as vendors from '../support/peers/vendor-rules.ts';

let here: TestInstallation;
let certificates: Certificates;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
  certificates = makeCertificates();
});
afterAll(async () => {
  certificates.remove();
  await here.stop();
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const test = (body: object) =>
  here.alice.ok(
    here.alice.post('/api/providers/test', { provider_type: 'openai_compatible', api_key: 'sk-canary', ...body }),
    200,
  );

async function listening(server: ReturnType<typeof createServer>, scheme = 'http'): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serving = (listener: RequestListener) => listening(createServer(listener));
const answers = (status: number, body: unknown, type = 'application/json') =>
  serving((_, response) => {
    response.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
const tls = () =>
  listening(
    createTlsServer({ key: readFileSync(certificates.key), cert: readFileSync(certificates.cert) }, (_, response) =>
      response.end(),
    ),
    'https',
  );

/** The port of a server that is gone. */
async function nowhere(): Promise<string> {
  const address = await answers(200, {});
  await closing.pop()?.();
  return `${address}/v1`;
}
const PAGE = '<!doctype html><html><body>Sign in</body></html>';
const refused = (message: string) => ({ error: { message, type: 'invalid_request_error', code: null } });

/** What is wrong, how the endpoint behaves, and what the sentence must name: the cause and what to do. */
const FAULTS: [what: string, at: () => Promise<string>, sentence: RegExp][] = [
  [
    'a name that no DNS knows',
    async () => 'https://no-such-host.invalid/v1',
    /^The host no-such-host\.invalid is not known .*check base_url/,
  ],
  ['nothing at the port', nowhere, /^Nothing listens at 127\.0\.0\.1:\d+: start the model server or correct the port/],
  ['a certificate nobody trusts', tls, /^The certificate of 127\.0\.0\.1 is not trusted .*NODE_EXTRA_CA_CERTS/],
  [
    'https at a port without TLS',
    async () => (await answers(200, {})).replace('http:', 'https:'),
    /does not answer with TLS: write http:\/\/ instead of https:\/\//,
  ],
  [
    'a refused key',
    () => answers(401, refused('Incorrect API key')),
    /^The endpoint refuses the key \(401: Incorrect API key\): check/,
  ],
  [
    'a key of another project',
    () => answers(403, refused('No access')),
    /^The key may not use this API \(403: No access\): give it access/,
  ],
  [
    'an account without credit',
    () => answers(402, refused('Insufficient credits')),
    /^The account has no credit .*pay at the vendor/,
  ],
  ['a used-up limit', () => answers(429, refused('Quota exceeded')), /^The key works, but its limit is reached .*wait, or raise/],
  [
    'an endpoint that fails',
    () => answers(503, refused('Overloaded')),
    /^The endpoint failed \(503: Overloaded\): try again later/,
  ],
  [
    'a base_url with the wrong path',
    async () => `${await answers(404, { message: 'no Route matched' })}/v2/nothing`,
    /^There is no model API at http:.*\/v2\/nothing \(404: no Route matched\): correct the path of base_url/,
  ],
  [
    'a base_url without /v1',
    async () => `${await answers(404, PAGE, 'text/html')}/gateway`,
    /^There is no model API at .* \(404: a web page, not the answer of an API\): set base_url to http:.*\/gateway\/v1/,
  ],
  [
    'a web page',
    () => answers(200, PAGE, 'text/html'),
    /answers with a web page: base_url must be the address of the API, such as http:.*\/v1/,
  ],
  ['a web page without a type', () => answers(200, PAGE, 'text/plain'), /answers with a web page/],
  ['another API', () => answers(200, { hello: 'world' }), /is not a list of models; check base_url and provider_type/],
];

describe('a test of a provider says what is wrong and what to do', () => {
  it.for(FAULTS)('%s', async ([, at, sentence]) => {
    const { success, models, error } = await test({ base_url: await at() });
    expect({ success, models }).toEqual({ success: false, models: [] });
    expect(error).toMatch(sentence);
    expect(error).not.toMatch(/sk-canary|\n|<html/);
  });

  it('a key that is missing', async () => {
    const base_url = await answers(401, refused('No auth header'));
    expect((await test({ base_url, api_key: null })).error).toMatch(
      /wants a key .*store one as a token and name it in api_key_token_name/,
    );
  });

  it('a key of Anthropic that is refused, in the words of the vendor', async () => {
    const body = { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' }, request_id: 'r' };
    const { error } = await test({ provider_type: 'anthropic_messages', base_url: await answers(401, body) });
    expect(error).toMatch(/^The endpoint refuses the key \(401: invalid x-api-key\): check/);
  });
});

describe('a test with a default model asks it once', () => {
  let vendor: CompatibleVendor;
  const at = async (rules: vendors.Rules, options?: { models: string[] | null }) => {
    vendor = await startCompatibleVendor(rules, options);
    closing.push(() => vendor.stop());
    return `${vendor.url}/v1`;
  };

  it('and is content with an answer, also where no models are listed', async () => {
    expect(await test({ base_url: await at(vendors.openai), default_model: 'gpt-4.1' })).toEqual({
      ...{ success: true, models: ['answered'], error: null },
    });
    expect(vendor.requests).toHaveLength(1);
    expect(vendor.requests[0]!.tools).toHaveLength(1);
    expect(await test({ base_url: await at(vendors.openai, { models: null }), default_model: 'openai.gpt-oss-20b-1:0' })).toEqual(
      {
        ...{ success: true, models: [], error: null },
      },
    );
  });

  it('a model that there is not', async () => {
    const base_url = await at(vendors.ollamaWithoutModel, { models: ['llama3.2:latest', 'qwen3:8b'] });
    expect((await test({ base_url, default_model: 'gone' })).error).toBe(
      "The endpoint has no model gone (model 'gone' not found): set default_model to one that it has, such as llama3.2:latest, qwen3:8b",
    );
  });

  it('a model that takes no tools', async () => {
    const base_url = await at(vendors.ollamaWithoutTools, { models: ['gemma:2b'] });
    const { success, models, error } = await test({ base_url, default_model: 'gemma:2b' });
    expect({ success, models }).toEqual({ success: false, models: ['gemma:2b'] });
    expect(error).toMatch(
      /^The model gemma:2b answers but takes no tools \(.*does not support tools\): agents need another model/,
    );
  });

  it('a wrong base_url remains the fault, whatever the model', async () => {
    const base_url = `${await answers(404, refused('Not found'))}/v1`;
    expect((await test({ base_url, default_model: 'm' })).error).toMatch(/^There is no model API at/);
  });

  it('a key that may list models but not use them', async () => {
    const base_url = await at(() => ({ status: 403, body: refused('This key is read-only') }));
    expect((await test({ base_url, default_model: 'm' })).error).toMatch(
      /^The key may not use this API \(403: This key is read-only\)/,
    );
  });

  it('over the Messages API', async () => {
    const base_url = (await at(vendors.anthropic)).replace('/v1', '');
    const asked = { provider_type: 'anthropic_messages', base_url, default_model: 'claude-sonnet-5' };
    expect(await test(asked)).toEqual({ success: true, models: ['answered'], error: null });
  });
});

describe('the presets', () => {
  it('are listed, and each is a provider as soon as its key is stored', async () => {
    const presets = (await here.alice.ok(here.alice.get('/api/providers/presets'))) as unknown as Record<string, string>[];
    expect(presets.map(({ id }) => id)).toEqual(['openai', 'anthropic', 'gemini', 'mistral', 'openrouter', 'ollama', 'bedrock']);
    const chosen = presets.filter(({ model_example = '' }) => !findKnownModel(model_example));
    expect(chosen.map(({ id }) => id)).toEqual(['ollama', 'bedrock']);
    for (const { name, provider_type, base_url, model_example } of presets) {
      const values = { name, provider_type, base_url, default_model: model_example };
      expect((await here.alice.post('/api/providers', values)).status, name).toBe(201);
    }
    expect((await here.anonymous.get('/api/providers/presets')).status).toBe(401);
  });
});
