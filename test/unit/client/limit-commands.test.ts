import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import listBudgets from '../../../src/main/commands/budgets.ts';
import runModels from '../../../src/main/commands/models.ts';
import { type Config, readConfig } from '../../../src/main/config.ts';
import { knownModel } from '../../support/known-model.ts';

const budget = { name: 'Team', scope: 'installation', subject_id: null, period: 'day', limit_usd: 7, limit_tokens: null };
const spent = { spent: 3.000_000_4, reserved: 0.5, left: 3.5, period_ends_at: null };
const BUDGETS = [
  { ...budget, ...spent },
  { ...budget, ...{ name: 'Ann', scope: 'person', subject_id: 'local:ann', limit_usd: null, limit_tokens: 1_009 } },
].map((one) => ({ ...spent, ...one }));
const IN_USE = { from: 'release', as_of: '2031-01-02', digest: null, models: [knownModel({})] };

const received: unknown[] = [];
const server = createServer(async (request, response) => {
  if (request.method === 'POST') received.push(await json(request));
  response.end(JSON.stringify(request.url?.startsWith('/api/budgets') ? BUDGETS : IN_USE));
});
let folder: string;
let config: Config;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-limits-'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const PERDURA_API_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config = readConfig({ PERDURA_API_URL, PERDURA_API_TOKEN: 'hunter2', XDG_CONFIG_HOME: folder, PERDURA_HOME: folder });
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

/** Returns what a command prints. */
async function print(run: () => Promise<void>): Promise<string> {
  let out = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    out += String(chunk);
    return true;
  });
  await run().finally(() => write.mockRestore());
  return out;
}

it('perdura budgets ls prints dollars or tokens, and who is limited', async () => {
  const [, ...lines] = (await print(() => listBudgets(config, ['ls']))).trim().split('\n');
  expect(lines.map((line) => line.split(/\s{2,}/))).toEqual([
    ['Team', 'installation', '$7 a day', '$3', '$0.5', '$3.5', '-'],
    ['Ann', 'person local:ann', '1009 tokens a day', '3 tokens', '1 tokens', '4 tokens', '-'],
  ]);
});

it('perdura models update sends an address, which the installation fetches, or what is piped into it', async () => {
  const url = 'HTTPS://models.example/7.json';
  const digest = `sha256:${'7'.repeat(64)}`;
  const shown = await print(() => runModels(config, ['update', url, '--digest', digest]));
  expect(shown).toContain('1 model, the newest entry of 2031-01-02\nfrom this version of Perdura\n');
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(['{"format": 1}']) as never);
  await print(() => runModels(config, ['update', '-'])).finally(() => stdin.mockRestore());
  expect(received).toEqual([
    { url, digest, force: false },
    { text: '{"format": 1}', file_name: 'stdin', force: false },
  ]);
});
