import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listPlugins, type ToolAnswer } from '../../src/toolrunner/index.ts';
import { type Bench, openBench, TIERS } from './support.ts';

let bench: Bench;
let port: number;
const sources = new Map((await listPlugins()).map(({ name, source }) => [name, source]));
const origin = createServer((incoming, outgoing) => {
  let body = '';
  incoming.on('data', (chunk) => {
    body += chunk;
  });
  incoming.on('end', () => {
    outgoing.writeHead(incoming.url === '/missing' ? 404 : 200, { 'content-type': 'application/json' });
    outgoing.end(
      JSON.stringify({ method: incoming.method, url: incoming.url, body, type: incoming.headers['content-type'] ?? null }),
    );
  });
});
beforeAll(async () => {
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  ({ port } = origin.address() as AddressInfo);
  bench = await openBench({ ...(TIERS.namespaces ?? TIERS.landlock ?? TIERS.process), egress_allow: [`127.0.0.1:${port}`] });
});
afterAll(async () => {
  await bench.runner.close();
  origin.close();
});

async function use(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
  const answer: ToolAnswer = await bench.call(sources.get(name) ?? '', {
    name,
    arguments: args,
    network: name === 'http_request',
  });
  if (answer.error !== null) throw new Error(answer.error);
  return JSON.parse(answer.result) as Record<string, unknown>;
}

describe('plugins', () => {
  it('keep the rules of every tool file, and describe themselves and every parameter', async () => {
    expect([...sources.keys()]).toEqual(['calculate', 'date_time', 'http_request', 'query_data']);
    for (const [name, source] of sources) {
      const found = await bench.runner.inspect(name, source);
      expect(found).toMatchObject({ valid: true, error: null, warnings: [] });
      expect(found.description.length).toBeGreaterThan(20);
      expect(found.effect).toBe(name === 'http_request' ? 'write' : 'read');
      // Null: it says nothing of the network, and so has none.
      expect(found.network).toBe(name === 'http_request' ? true : null);
      for (const property of Object.values(found.inferred_schema.properties as Record<string, { description?: string }>))
        expect(property.description).toBeTruthy();
    }
  });

  it.each([
    ['2 + 3 * 4', {}, { result: 14 }],
    ['1/3 + 1/6', {}, { result: 0.5, exact: '1/2' }],
    ['2**100', {}, { result: 2 ** 100 }],
    ['sqrt(a**2 + b**2)', { a: 3, b: 4 }, { result: 5 }],
    ['mean(x) > median(x)', { x: [1, 2, 9] }, { result: true }],
    ['round(tau / 2, 2)', {}, { result: 3.14 }],
    ['comb(5, 2) - abs(-3)', {}, { result: 7 }],
  ])('calculate %s', async (expression, variables, answer) => {
    expect(await use('calculate', { expression, variables })).toEqual(answer);
  });
  it.each(['__import__("os")', '(1).__class__', '9**9**9', 'x', '1/0', 'open("/etc/passwd")', '[i for i in [1]]', ''])(
    'calculate refuses %j',
    async (expression) => {
      await expect(use('calculate', { expression })).rejects.toThrow();
    },
  );

  it('date_time returns times, shifts them and computes differences', async () => {
    expect(await use('date_time', { at: '2024-02-28T23:30:00Z', timezone: 'Europe/Berlin', add_days: 1 })).toEqual({
      iso: '2024-03-01T00:30:00+01:00',
      utc: '2024-02-29T23:30:00Z',
      unix: 1_709_249_400,
      date: '2024-03-01',
      time: '00:30:00',
      weekday: 'Friday',
      week: '2024-W09',
      day_of_year: 61,
    });
    expect((await use('date_time', { at: '2024-01-01', until: '2023-12-30T12:00:00' })).until).toEqual({
      seconds: -129_600,
      days: 1,
      hours: 12,
      minutes: 0,
      past: true,
    });
    expect(Math.abs(Number((await use('date_time', {})).unix) - Date.now() / 1000)).toBeLessThan(60);
    await expect(use('date_time', { timezone: 'Mars/Olympus' })).rejects.toThrow("there is no time zone 'Mars/Olympus'");
  });

  it('query_data filters, sorts, groups and sums', async () => {
    const data = 'city,country,people\nBerlin,DE,3.7\nParis,FR,2.1\nHamburg,DE,1.8\nLyon,FR,\n';
    expect(
      await use('query_data', { data, format: 'csv', where: { people: { gt: 2 } }, order_by: 'people', select: ['city'] }),
    ).toEqual({ rows: [{ city: 'Paris' }, { city: 'Berlin' }], count: 2 });
    expect(
      await use('query_data', {
        data,
        format: 'csv',
        group_by: 'country',
        aggregate: 'sum',
        column: 'people',
        order_by: 'country',
      }),
    ).toEqual({
      rows: [
        { country: 'DE', sum: 5.5 },
        { country: 'FR', sum: 2.1 },
      ],
      count: 2,
    });
    expect(
      await use('query_data', { data: '{"a": [{"b": [1, 2, 3]}]}', path: 'a[0].b', where: { value: { in: [2, 3] } }, limit: 1 }),
    ).toEqual({ rows: [{ value: 2 }], count: 2 });
    expect(await use('query_data', { data: '{"a": {"b": 7}}', path: 'a.b' })).toEqual({ value: 7 });
  });

  it('http_request asks and reports what came', async () => {
    const url = `http://127.0.0.1:${port}`;
    expect(await use('http_request', { url: `${url}/x?a=1`, query: { b: '2 3' } })).toMatchObject({
      status: 200,
      json: { method: 'GET', url: '/x?a=1&b=2+3' },
    });
    expect(await use('http_request', { url, method: 'POST', json_body: { a: 1 } })).toMatchObject({
      json: { method: 'POST', body: '{"a": 1}', type: 'application/json' },
    });
    expect(await use('http_request', { url: `${url}/missing` })).toMatchObject({ status: 404 });
    expect(await use('http_request', { url: 'http://10.0.0.1/' })).toMatchObject({ status: 403 });
    await expect(use('http_request', { url: 'file:///etc/passwd' })).rejects.toThrow('url must begin with http:// or https://');
  });
});
