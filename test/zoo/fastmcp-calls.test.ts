import { spawn } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { discover } from '../../src/tools/mcp/discover.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { getOrReport } from '../support/machine/had.ts';
import { baseEnv, type Child, childOf, freePort } from '../support/machine/processes.ts';
import { type PythonEnvironment, pythonWith } from '../support/machine/python-venv.ts';
import { callOf, everything, type McpBench, openMcpBench, openToken, serverOf } from '../tools/support.ts';
import { pathOf } from './support.ts';

/** The last version of each generation, two of which have tasks in the versions of the protocol with a handshake. */
const PACKAGES = { 'FastMCP 2.14': 'fastmcp==2.14.7', 'FastMCP 3': 'fastmcp[tasks]==3.4.11', 'FastMCP 4': 'fastmcp==4.2.3' };
const environments = new Map<string, PythonEnvironment | null>();
for (const [name, wanted] of Object.entries(PACKAGES))
  environments.set(name, await getOrReport(wanted, () => pythonWith([wanted])));
const newest = environments.get('FastMCP 4');

let bench: McpBench;
const running: Child[] = [];
beforeAll(async () => {
  bench = await openMcpBench();
});
afterEach(async () => {
  for (const child of running.splice(0)) await child.end('SIGKILL');
});
afterAll(() => bench?.close());

const never = () => new AbortController().signal;

async function toolsOf(server: ReturnType<typeof serverOf>) {
  const { tools } = await discover([server], { ...bench.ports, openToken, principal: 'local:alice' }, never());
  return createMcpTools(bench.ports, server, tools);
}

describe('the reference server "everything"', () => {
  it.each([
    ['its result', {}, '# Research Report: Birds\n'],
    ['its result after a question', { ambiguous: true }, '# Research Report: Birds (technical)'],
  ])('executes a tool that needs a task as one, and %s is that of the call', { timeout: 30_000 }, async (_what, args, report) => {
    const tools = await toolsOf(everything());
    const progress: string[] = [];
    const ask = async () => ({ action: 'accept' as const, content: { interpretation: 'technical' } });
    const more = { progress: (text: string) => progress.push(text), ask };
    const outcome = await tools.call(callOf('simulate-research-query', { topic: 'Birds', ...args }, more), never());
    expect(outcome).toMatchObject({ failed: false, content: expect.stringContaining(report) });
    expect(progress.join()).toContain('...');
  });
});

/** Starts a server of FastMCP; returns where it is. */
async function start({ python }: PythonEnvironment, program: string) {
  const port = await freePort();
  const child = childOf(spawn(python, [pathOf(program), String(port)], { env: baseEnv(), stdio: ['ignore', 'pipe', 'pipe'] }));
  running.push(child);
  await child.prints(/running on/i);
  return { name: 'odd', transport_type: 'http', connection_config: { url: `http://127.0.0.1:${port}/mcp` } };
}

describe.each([...environments].slice(0, 2))(
  'a server of %s whose tools need tasks',
  { timeout: 60_000 },
  (_name, environment) => {
    it.skipIf(!environment)('has its results and errors read', async () => {
      const tools = await toolsOf(serverOf(await start(environment!, 'fastmcp_tasks.py')));
      const call = (name: string, args = {}) => tools.call(callOf(name, args), never());
      expect(await call('report', { topic: 'birds' })).toEqual({ content: 'All about birds.', failed: false });
      expect(await call('refuse')).toMatchObject({ failed: true, content: expect.stringContaining('There is no such topic.') });
      expect(await call('either')).toEqual({ content: 'Either.', failed: false });
    });
  },
);

describe.skipIf(!newest)('a server of FastMCP 4 that asks a person during a call', { timeout: 60_000 }, () => {
  it('does so with its protocol set to 2025-11-25; otherwise, the failure states that', async () => {
    const server = await start(newest!, 'fastmcp_questions.py');
    const call = async (values: object) => {
      const tools = await toolsOf(serverOf({ ...server, ...values }));
      return tools.call(callOf('book', {}, { ask: async () => ({ action: 'accept', content: { value: 7 } }) }), never());
    };
    expect(await call({ protocol: '2025-11-25' })).toEqual({ content: 'row 7', failed: false });
    expect(await call({})).toMatchObject({ failed: true, content: expect.stringContaining('set its `protocol` to 2025-11-25') });
  });
});
