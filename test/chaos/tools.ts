import { chmod, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from './client.ts';
import type { Kind } from './plan.ts';
import { livingProcesses, signalled } from './processes.ts';

/** A record that a tool wrote about itself, independent of Perdura's records. */
export interface Effect {
  key: string;
  kind: string;
  phase: 'begin' | 'end';
  pid: number;
  /** In seconds since 1970. */
  at: number;
}

export interface Tools {
  names: Record<Kind, string>;
  effects(): Promise<Effect[]>;
  /** Kills a running Python tool. */
  killOne(): Promise<boolean>;
  /** Kills an MCP server, preferably one with a running call. */
  killServer(): Promise<boolean>;
  /** The running MCP servers. */
  servers(): Promise<number[]>;
}

/** It writes nothing that is counted outside. */
export const BRIEF = 'manage_todo_list';
const PYTHON = ['read', 'idempotent', 'write', 'approved'] as const;
const SERVER = fileURLToPath(new URL('mcp-server.ts', import.meta.url));

/** A tool that records its start and end with single appended writes, which no kill can tear. */
const sourceOf = (kind: (typeof PYTHON)[number], file: string) => `import os, time

EFFECT = ${JSON.stringify(kind === 'approved' ? 'write' : kind)}


def chaos_${kind}(n: int) -> str:
    """Counts its calls in a file.

    Args:
        n: decides how long it takes
    """
    log = os.open(${JSON.stringify(file)}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    note = lambda phase: os.write(log, f"{os.environ['PERDURA_CALL_KEY']} ${kind} {phase} {os.getpid()} {time.time()}\\n".encode())
    note("begin")
    time.sleep(0.1 + (n % 7) * 0.25)
    note("end")
    return "counted"
`;

export interface MadeTools extends Tools {
  /** The fields of an agent that has these tools. */
  of_agent: { custom_tool_ids: string[]; mcp_server_ids: string[]; builtin_tools: string[] };
}

/** Creates the counting tools, which write to `file`. */
export async function makeTools(client: Client, file: string, env: Record<string, string>): Promise<MadeTools> {
  await writeFile(file, '');
  await chmod(file, 0o666);
  const made = async (path: string, body: object) => {
    const answer = await client.insist('POST', path, { body });
    if (answer.status !== 201) throw new Error(`A tool was refused: ${JSON.stringify(answer.body)}`);
    return answer.body.id as string;
  };
  const custom_tool_ids: string[] = [];
  for (const kind of PYTHON)
    custom_tool_ids.push(await made('/api/custom-tools', { name: `chaos_${kind}`, source_code: sourceOf(kind, file) }));
  const connection_config = { command: process.execPath, args: ['--disable-warning=ExperimentalWarning', SERVER, file], env };
  const mcp_server_ids = [await made('/api/mcps', { name: 'counting', transport_type: 'stdio', connection_config })];
  const effects = () => effectsIn(file);
  const servers = async () =>
    (await livingProcesses()).filter(({ argv }) => argv.at(-1) === file && argv.at(-2) === SERVER).map(({ pid }) => pid);
  const names = Object.fromEntries(PYTHON.map((kind) => [kind, `chaos_${kind}`])) as Record<(typeof PYTHON)[number], string>;
  return {
    of_agent: { custom_tool_ids, mcp_server_ids, builtin_tools: [BRIEF] },
    names: { ...names, mcp_read: 'mcp_read', mcp_write: 'mcp_write', brief: BRIEF },
    effects,
    servers,
    killOne: async () => killed(await pythonAtWork(await effects())),
    async killServer() {
      const all = await effects();
      return killed(victimAmong(await servers(), all));
    },
  };
}

const killed = (pid: number | undefined) => pid !== undefined && signalled(pid, 'SIGKILL');

async function pythonAtWork(all: Effect[]): Promise<number | undefined> {
  const ended = new Set(all.filter(({ phase }) => phase === 'end').map(({ pid }) => pid));
  const begun = new Set(all.slice(-40).map(({ pid }) => pid));
  return (await livingProcesses()).find(({ pid, argv }) => begun.has(pid) && !ended.has(pid) && argv[0]?.includes('python'))?.pid;
}

/** Skips servers whose kill would correctly fail the run: those with a read interrupted twice already, and those still starting. */
function victimAmong(servers: number[], all: Effect[]): number | undefined {
  const begun = (key: string) => all.filter((effect) => effect.key === key && effect.phase === 'begin').length;
  const candidates = servers.map((pid) => {
    const own = all.filter((effect) => effect.pid === pid);
    const open = own.filter(
      ({ key, phase }) => phase === 'begin' && !own.some((other) => other.phase === 'end' && other.key === key),
    );
    return { pid, known: own.length > 0, open, spent: open.some(({ key }) => begun(key) >= 2) };
  });
  const fit = candidates.filter(({ known, spent }) => known && !spent);
  return (fit.find(({ open }) => open.length > 0) ?? fit[0])?.pid;
}

async function effectsIn(file: string): Promise<Effect[]> {
  const text = await readFile(file, 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [key = '', kind = '', phase, pid, at] = line.split(' ');
      return { key, kind, phase: phase as Effect['phase'], pid: Number(pid), at: Number(at) };
    });
}
