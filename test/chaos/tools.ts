import { readFile } from 'node:fs/promises';
import type { Client } from './client.ts';
import type { Kind } from './plan.ts';

/** What a tool wrote of itself, from outside Perdura's own records. */
export interface Effect {
  key: string;
  kind: string;
  phase: 'begin' | 'end';
  pid: number;
}

export interface Tools {
  names: Record<Kind, string>;
  effects(): Promise<Effect[]>;
  /** Kills a tool that is at work. */
  killOne(): Promise<boolean>;
}

const KINDS: Kind[] = ['read', 'idempotent', 'write', 'approved'];

/** Notes its beginning and its end with single appended writes, which no kill can tear. */
const sourceOf = (kind: Kind, file: string) => `import os, time

EFFECT = ${JSON.stringify(kind === 'approved' ? 'write' : kind)}


def chaos_${kind}(n: int) -> str:
    """Counts its calls in a file.

    Args:
        n: decides how long it takes
    """
    log = os.open(${JSON.stringify(file)}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    note = lambda phase: os.write(log, f"{os.environ['PERDURA_CALL_KEY']} ${kind} {phase} {os.getpid()}\\n".encode())
    note("begin")
    time.sleep(0.1 + (n % 7) * 0.25)
    note("end")
    return "counted"
`;

/** Makes the counting tools; `file` is where they write. */
export async function makeTools(client: Client, file: string): Promise<Tools & { ids: string[] }> {
  const ids: string[] = [];
  for (const kind of KINDS) {
    const made = await client.insist('POST', '/api/custom-tools', {
      body: { name: `chaos_${kind}`, source_code: sourceOf(kind, file) },
    });
    if (made.status !== 201) throw new Error(`The tool ${kind} was refused: ${JSON.stringify(made.body)}`);
    ids.push(made.body.id);
  }
  const effects = () => effectsIn(file);
  return {
    ids,
    names: Object.fromEntries(KINDS.map((kind) => [kind, `chaos_${kind}`])) as Record<Kind, string>,
    effects,
    killOne,
  };

  async function killOne(): Promise<boolean> {
    const all = await effects();
    const ended = new Set(all.filter(({ phase }) => phase === 'end').map(({ pid }) => pid));
    for (const { pid } of all.slice(-20).reverse()) {
      if (ended.has(pid)) continue;
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (!command.includes('python')) continue;
      process.kill(pid, 'SIGKILL');
      return true;
    }
    return false;
  }
}

async function effectsIn(file: string): Promise<Effect[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [key = '', kind = '', phase, pid] = line.split(' ');
      return { key, kind, phase: phase as Effect['phase'], pid: Number(pid) };
    });
}
