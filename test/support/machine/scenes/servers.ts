import { fileURLToPath } from 'node:url';
import { startToolRunner, type ToolRunnerOptions } from '../../../../src/toolrunner/index.ts';
import { createMcpPool } from '../../../../src/tools/mcp/pool.ts';
import { SYSTEM_PYTHON } from '../system-python.ts';
import type { Scene, Stage } from './scenes.ts';

const SERVERS = fileURLToPath(new URL('../../../tools/servers', import.meta.url));
/** How `lingers.py` behaves. */
const WAYS = [
  'ends with its input',
  'ends at its start',
  'ends during a call',
  'is killed',
  'hangs at shutdown',
  'leaves a daemon',
];
const CONNECT_MS = 3_000;

/** Servers of MCP that are commands, in one tier. */
export async function open(folder: string, options: ToolRunnerOptions): Promise<Stage> {
  const host_paths = { allow: [SERVERS], closed: [] };
  const runner = await startToolRunner({ prefork: 1, scratch_dir: folder, host_paths, ...options });
  const signal = new AbortController().signal;
  const place = (how: string) => {
    const command = { command: SYSTEM_PYTHON, args: ['-I', `${SERVERS}/lingers.py`, how], env: {} };
    const target = {
      id: 'id',
      name: 'lingers',
      network: false,
      paths: [SERVERS],
      endpoint: { kind: 'stdio' as const, ...command },
    };
    return { target, principal: 'local:alice' };
  };
  /** Opens a connection, lists and calls; closes it, as a worker does that ends. */
  const use = async (how: string, stop: AbortSignal = signal) => {
    const { startConfined } = runner;
    const pool = createMcpPool({ startConfined, schemaFaults: async () => [null], version: 'test', connect_ms: CONNECT_MS });
    try {
      return await pool.use(
        place(how),
        async (connection) => {
          const { tools } = await connection.list(stop);
          const { content } = await connection.call({ tool: 'one', arguments: {}, call_key: 'key', task_id: 'task' }, stop);
          return `${tools.length} tool, ${content}`;
        },
        stop,
      );
    } finally {
      await pool.close();
    }
  };
  await use('ends with its input');

  const scenes: Record<string, Scene> = {
    ...Object.fromEntries(WAYS.map((how) => [`a server that ${how}`, () => use(how)])),
    'a server that is silent': () => use('is silent'),
    'a server whose call is cancelled': () => use('hangs during a call', AbortSignal.timeout(CONNECT_MS)),
    'a server that may not have its path': async () => {
      const pool = createMcpPool({ startConfined: runner.startConfined, schemaFaults: async () => [null], version: 'test' });
      const { target, principal } = place('ends with its input');
      const refused = { target: { ...target, paths: ['/nowhere'] }, principal };
      return pool.use(refused, async () => 'connected', signal).finally(() => pool.close());
    },
  };
  return { scenes, close: () => runner.close() };
}
