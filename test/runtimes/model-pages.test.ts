import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, expect, it } from 'vitest';
import { listModels, MOST_MODELS } from '../../src/runtimes/listed-models.ts';

let stop: () => Promise<unknown>;
afterEach(() => stop());

/** An endpoint that always has another page. Returns a client of it, and how many pages were asked for. */
async function endless(models_each: number, answers_after_ms = 0) {
  const asked = { pages: 0 };
  const server = createServer((_, response) => {
    const page = ++asked.pages;
    const data = Array.from({ length: models_each }, (__, index) => ({ id: `m-${page}-${index}` }));
    const body = JSON.stringify({ data, has_more: true, first_id: data[0]?.id, last_id: data.at(-1)?.id });
    setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(body), answers_after_ms);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, client: new Anthropic({ apiKey: 'key', baseURL, maxRetries: 0, logLevel: 'off' }) };
}

it('an endpoint that lists models forever is read up to a limit', async () => {
  const { client, asked } = await endless(1_000);
  expect(await listModels(client)).toHaveLength(MOST_MODELS);
  expect(asked.pages).toBe(5);
});

it('one that lists them slowly is read for a limited time', async () => {
  const { client } = await endless(1, 50);
  await expect(listModels(client, 400)).rejects.toThrow('The endpoint did not list its models within 0.4 s');
});
