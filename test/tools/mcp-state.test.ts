import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PinnedMcpServer } from '../../src/domain/definition.ts';
import { startToolRunner } from '../../src/toolrunner/index.ts';
import type { Tier } from '../../src/toolrunner/settings.ts';
import { createMcpPool } from '../../src/tools/mcp/pool.ts';
import { createMcpState } from '../../src/tools/mcp/state.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { callOf, MODULES, nodeServer, openToken, SERVERS } from './support.ts';

const MIB = 1_024 ** 2;
const ALICE = 'local:alice';
const BOB = 'local:bob';
const TOOLS = ['keep', 'look', 'where', 'fill'];
const never = () => new AbortController().signal;
/** Node reads the package of the program, which Landlock must allow. */
const PATHS = [MODULES, process.execPath, SERVERS, join(MODULES, '../package.json')];
const keeper = () => nodeServer(`${SERVERS}/keeps.mjs`, { id: uuid(), name: 'keeper', state: true, paths: PATHS });
let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'perdura-state-'));
  await chmod(parent, 0o711);
});
afterAll(() => rm(parent, { recursive: true, force: true }));

/** A worker with its own processes. All workers use the same folder of states. */
async function openWorker(tier?: Tier) {
  const runner = await startToolRunner({ host_paths: { allow: ['/:rw'], closed: [] }, ...(tier && { tier }) });
  const state = createMcpState({ parent, limits: { bytes: 4 * MIB, files: 50 } });
  const schemaFaults = async (schemas: readonly unknown[]) => schemas.map(() => null);
  const pool = createMcpPool({ startConfined: runner.startConfined, state, schemaFaults, version: 'test' });
  const ports = { pool, openConfig: async (server: PinnedMcpServer) => server, openToken };
  return {
    state,
    async call(server: PinnedMcpServer, name: string, args: object = {}, owner = ALICE) {
      const spec = { description: '', parameters: {}, effect: 'idempotent' as const };
      const tools = createMcpTools(
        ports,
        server,
        TOOLS.map((tool) => ({ server_id: server.id, tool, spec: { ...spec, name: tool } })),
      );
      const { content, failed } = await tools.call({ ...callOf(name, args), run: { ...callOf(name).run, owner } }, never());
      return failed ? content : JSON.parse(content);
    },
    async close() {
      await pool.close();
      await runner.close();
    },
  };
}

/** Uses one worker after the other. */
async function inTurn<T>(work: (worker: Awaited<ReturnType<typeof openWorker>>) => Promise<T>, tier?: Tier): Promise<T> {
  const worker = await openWorker(tier);
  return work(worker).finally(() => worker.close());
}

const onLinux = process.platform === 'linux';

describe('the state of a stdio server', () => {
  it.each<Tier | undefined>(onLinux ? [undefined, 'landlock'] : [undefined])(
    'outlasts its process and its worker, for each person alone: %s',
    async (tier) => {
      const server = keeper();
      const keep = (word: string, owner: string) => inTurn(({ call }) => call(server, 'keep', { word }, owner), tier);
      expect(await keep('her word', ALICE)).toBe('');
      expect(await keep('his word', BOB)).toBe('');
      expect(await keep('', ALICE)).toBe('her word');
      expect(await keep('', BOB)).toBe('his word');
    },
    60_000,
  );

  it('is its home and its working directory, and the state of others is out of its reach', async () => {
    const server = keeper();
    await inTurn(async ({ call }) => {
      await call(server, 'keep', { word: 'his' }, BOB);
      const his = (await call(server, 'where', {}, BOB)).cwd as string;
      const place = await call(server, 'where');
      const own = join(parent, server.id);
      expect(place.cwd).toMatch(new RegExp(`^${own}/[0-9a-f]{32}$`));
      expect(place).toMatchObject({ HOME: place.cwd, PERDURA_STATE: place.cwd, XDG_DATA_HOME: `${place.cwd}/.local/share` });
      expect(place.TMPDIR).not.toContain(own);
      expect(his).not.toBe(place.cwd);
      expect(await call(server, 'look', { path: join(his, 'kept.txt') })).not.toBe('his');
      expect(await call(server, 'look', { path: join(his, 'kept.txt') }, BOB)).toBe('his');
    });
  });

  it('can name another home in its environment', async () => {
    const { connection_config, ...server } = keeper();
    const named = { ...server, connection_config: { ...connection_config, env: { HOME: '/elsewhere' } } };
    expect(await inTurn(({ call }) => call(named, 'where'))).toMatchObject({ HOME: '/elsewhere' });
  });

  it('is none of a server without it', async () => {
    const server = { ...keeper(), state: false };
    const { PERDURA_STATE } = await inTurn(({ call }) => call(server, 'where'));
    expect(PERDURA_STATE).toBeUndefined();
    expect(await readdir(parent)).not.toContain(server.id);
  });

  it('ends a process that fills it, refuses further ones, and is usable again once it is cleared', async () => {
    const server = keeper();
    await inTurn(async ({ call, state }) => {
      await call(server, 'keep', { word: 'his' }, BOB);
      await call(server, 'keep', { word: 'hers' });
      const FULL = new RegExp(
        `^mcp_state_full: The MCP server keeper cannot be reached: its state is full: it is larger than ${4 * MIB} bytes; it may have at most 4 MiB \\(MCP_STATE_MB\\) and 50 files \\(MCP_STATE_FILES\\)\\. Delete it with DELETE /api/mcps/${server.id}/state`,
      );
      expect(await call(server, 'fill', { mb: 8 })).toMatch(/^mcp_state_full: The process of the MCP server was ended: /);
      for (let calls = 0; calls < 3; calls += 1) expect(await call(server, 'keep', { word: '' })).toMatch(FULL);
      await state.clear({ server_id: server.id, principal: ALICE });
    });
    await inTurn(async ({ call }) => {
      expect(await call(server, 'keep', { word: '' })).toBe('');
      expect(await call(server, 'keep', { word: '' }, BOB)).toBe('his');
    });
  });

  it('of too many files is refused, too', async () => {
    const server = keeper();
    const { cwd } = await inTurn(({ call }) => call(server, 'where'));
    for (let number = 0; number <= 50; number += 1) await writeFile(join(cwd, `${number}`), '');
    expect(await inTurn(({ call }) => call(server, 'where'))).toContain('its state is full: it holds more than 50 files');
  });

  it('is removed with its server', async () => {
    const server = keeper();
    await inTurn(async ({ call, state }) => {
      await call(server, 'keep', { word: 'a' });
      await call(server, 'keep', { word: 'b' }, BOB);
      expect(await state.listServers()).toContain(server.id);
      await state.remove(server.id);
      expect(await state.listServers()).not.toContain(server.id);
      expect(() => state.remove('..')).toThrow('is not the id of a server');
    });
  });
});
