import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { launchProcess } from './launch-process.ts';
import type { Inspection } from './runner.ts';

const SOURCE_LIMIT = 200 * 1024;
const TIMEOUT_MS = 2_000;
const EMPTY_SCHEMA = { type: 'object', properties: {}, required: [] };

interface Refusal {
  error: { message: string; line: number; column: number };
}

interface ToolFile extends Required<Pick<Inspection, 'description' | 'env' | 'effect' | 'network' | 'imports' | 'warnings'>> {
  schema: Inspection['inferred_schema'];
}

/** The answer to a question, as the helper's `inspect_source` makes it. */
type HelperAnswer = Refusal | ToolFile;

interface Inspector {
  inspect(name: string, source: string): Promise<Inspection>;
  close(): Promise<void>;
}

/**
 * Starts an inspector: one helper process that parses and never executes. The process starts on demand and again after its death.
 */
export function startInspector(command: readonly string[], timeout_ms = TIMEOUT_MS): Inspector {
  let helper: Helper | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let next_id = 0;

  async function ask(name: string, source: string): Promise<Inspection> {
    if (!helper?.isAlive()) helper = await startHelper(command);
    const id = ++next_id;
    const answer = await helper.ask({ id, name, source }, timeout_ms);
    return answer ? toInspection(answer) : invalid('the source is too complex to analyse', 1, 1);
  }

  return {
    inspect(name, source) {
      if (Buffer.byteLength(source) > SOURCE_LIMIT) return Promise.resolve(invalid('the source is larger than 200 KB', 1, 1));
      const mine = turn.then(() => ask(name, source));
      turn = mine.catch(() => {});
      return mine;
    },
    async close() {
      await turn;
      await helper?.stop();
    },
  };
}

function toInspection(answer: HelperAnswer): Inspection {
  if ('error' in answer) return invalid(answer.error.message, answer.error.line, answer.error.column);
  const { schema, description, env, effect, network, imports, warnings } = answer;
  return { valid: true, error: null, inferred_schema: schema, description, env, effect, network, imports, warnings };
}

function invalid(message: string, line: number, column: number): Inspection {
  const error = `${message} (line ${line}, column ${column})`;
  return { valid: false, error, inferred_schema: EMPTY_SCHEMA, description: '', env: {}, effect: null, network: null };
}

/** The helper answers whatever its parser raises, so that an exit code means a broken installation of Python. */
const createHelperFailure = (code: number): HelperAnswer => ({
  error: {
    message: `the process that reads tool files failed (exit code ${code}); check the installation of Python`,
    line: 1,
    column: 1,
  },
});

interface Helper {
  isAlive(): boolean;
  /** Returns the answer; null if the helper crashed on the question or did not answer in time. In both cases it has ended. */
  ask(question: { id: number; name: string; source: string }, timeout_ms: number): Promise<HelperAnswer | null>;
  stop(): Promise<void>;
}

async function startHelper(command: readonly string[]): Promise<Helper> {
  const [file = '', ...args] = command;
  const child = await launchProcess(file, args, { stdio: ['pipe', 'pipe', 'ignore'], env: {}, detached: true });
  let waiting: ((answer: HelperAnswer | null) => void) | undefined;
  const deliver = (answer: HelperAnswer | null) => {
    waiting?.(answer);
    waiting = undefined;
  };
  // A dead helper breaks this pipe; its exit reports the same.
  child.stdin!.on('error', () => {});
  child.on('error', () => deliver(null));
  child.on('exit', (code) => deliver(code ? createHelperFailure(code) : null));
  createInterface({ input: child.stdout! }).on('line', (line) => deliver(JSON.parse(line) as HelperAnswer));
  return {
    isAlive: () => isAlive(child),
    ask(question, timeout_ms) {
      return new Promise((resolve) => {
        const timer = setTimeout(() => child.kill('SIGKILL'), timeout_ms);
        waiting = (answer) => {
          clearTimeout(timer);
          resolve(answer);
        };
        child.stdin!.write(`${JSON.stringify(question)}\n`);
      });
    },
    async stop() {
      if (!isAlive(child)) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}
