import { fileURLToPath } from 'node:url';
import type { PinnedMcpServer } from '../../src/domain/definition.ts';
import { startToolRunner } from '../../src/toolrunner/index.ts';
import type { PythonToolRunner } from '../../src/toolrunner/python-tool-runner.ts';
import type { SchemaFaults } from '../../src/tools/mcp/listing.ts';
import { createMcpPool, type McpPool, type PoolOptions } from '../../src/tools/mcp/pool.ts';
import type { ToolCall } from '../../src/tools/source.ts';
import { testParsers } from '../support/contract/parsers.ts';

export const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
export const SERVERS = fileURLToPath(new URL('./servers', import.meta.url));

export const serverOf = (values: Partial<PinnedMcpServer>): PinnedMcpServer => ({
  id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be003',
  name: 'server',
  transport_type: 'stdio',
  connection_config: {},
  allowed_tools: [],
  network: false,
  paths: [],
  required: false,
  ...values,
});

/** A server that is a Node program. */
export const nodeServer = (file: string, { args = [], ...values }: Partial<PinnedMcpServer> & { args?: string[] } = {}) =>
  serverOf({
    connection_config: { command: process.execPath, args: [file, ...args] },
    paths: [MODULES, process.execPath, SERVERS],
    ...values,
  });

export const everything = (values: Partial<PinnedMcpServer> = {}) =>
  nodeServer(`${MODULES}/@modelcontextprotocol/server-everything/dist/index.js`, {
    name: 'everything',
    args: ['stdio'],
    ...values,
  });

export const openToken = async (name: string): Promise<string> => {
  if (name === 'missing') throw new Error('There is no stored token named missing');
  return `value-of-${name}`;
};

export const callOf = (name: string, args: object = {}, more: Partial<ToolCall> = {}): ToolCall => ({
  call_id: '1-1',
  name,
  arguments: args as Record<string, unknown>,
  call_key: 'task:1-1',
  run: {
    task_id: 'task',
    workflow_id: 'workflow',
    agent_id: 'agent',
    owner: 'local:alice',
    definition_hash: 'hash',
    workspace: async () => '/nowhere',
  },
  ...more,
});

/** Opens a pool for servers over HTTP, which need no sandbox. */
export function openHttpBench(options: Partial<PoolOptions> = {}) {
  const schemaFaults = async (schemas: readonly unknown[]) => schemas.map(() => null);
  const pool = createMcpPool({ startConfined: null, schemaFaults, version: 'test', ...options });
  return { ports: { pool, openConfig: async (server: PinnedMcpServer) => server, openToken }, close: pool.close };
}

export interface McpBench {
  runner: PythonToolRunner;
  pool: McpPool;
  schemaFaults: SchemaFaults;
  ports: { pool: McpPool; openConfig: (server: PinnedMcpServer) => Promise<PinnedMcpServer>; openToken: typeof openToken };
  close(): Promise<void>;
}

export async function openMcpBench(options: Partial<PoolOptions> = {}): Promise<McpBench> {
  const runner = await startToolRunner({ host_paths: { allow: ['/:rw'], closed: [] } });
  const { schemaFaults, close } = testParsers();
  const pool = createMcpPool({ startConfined: runner.startConfined, schemaFaults, version: 'test', ...options });
  return {
    runner,
    pool,
    schemaFaults,
    ports: { pool, openConfig: async (server) => server, openToken },
    async close() {
      await pool.close();
      await runner.close();
      await close();
    },
  };
}
