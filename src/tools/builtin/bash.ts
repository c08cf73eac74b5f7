import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { StartConfined } from '../mcp/stdio.ts';
import { type ToolCall, type ToolOutcome, ToolUnreachable, unreachableWhileDown } from '../source.ts';
import type { Builtin } from './tool.ts';

export const bashTool: Builtin<BashPorts> = {
  spec: {
    name: 'bash',
    description:
      'Runs a shell command in the workspace and returns what it prints. Each call starts a new shell: only files persist. There is no network unless the installation allows it.',
    effect: 'write',
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'string', description: 'The command' },
        timeout: { type: 'integer', minimum: 1, maximum: 600_000, description: 'Milliseconds; default 120000, at most 600000' },
        description: { type: 'string', description: 'What it does, in a few words' },
      },
      required: ['command'],
    },
  },
  works_on: 'workspace',
  at_vendor: true,
  create: bash,
};

export interface BashPorts {
  startConfined: StartConfined;
  /** True if commands may reach the network, through the egress guard. */
  bash_network: boolean;
}

const TIMEOUT_MS = 120_000;
const LONGEST_MS = 600_000;
const OUTPUT_CHARACTERS = 30_000;

function bash({ startConfined, bash_network }: BashPorts) {
  return async ({ arguments: args, call_key, run }: ToolCall, signal: AbortSignal): Promise<ToolOutcome> => {
    const { command, timeout } = args;
    if (typeof command !== 'string' || command.trim() === '') return { content: 'command must be a text', failed: true };
    const limit = Math.min(typeof timeout === 'number' && timeout > 0 ? timeout : TIMEOUT_MS, LONGEST_MS);
    const workspace = await run.workspace(signal);
    const expiry = new AbortController();
    const started = startConfined(
      {
        command: '/bin/bash',
        // Without it bash treats its stdin as a network connection and looks for a startup file that may be unreadable.
        args: ['--norc', '-c', command],
        env: { PERDURA_CALL_KEY: call_key },
        workspace,
        network: bash_network,
      },
      AbortSignal.any([signal, expiry.signal]),
    );
    const child = await started.catch(unreachableWhileDown).catch((error: Error) => error);
    signal.throwIfAborted();
    if (child instanceof ToolUnreachable) throw child;
    if (child instanceof Error) return { content: `The command could not be run: ${child.message}`, failed: true };
    // The limit covers the command only, not the start of the sandbox.
    const timer = setTimeout(() => expiry.abort(), limit);
    child.stdin.end();
    const output = collectOutput([child.stdout, child.stderr]);
    // The last output may still be in the pipes when the command has ended.
    const [exit] = await Promise.all([child.exit, waitForEnd(child.stdout), waitForEnd(child.stderr)]);
    clearTimeout(timer);
    signal.throwIfAborted();
    const printed = output();
    if (expiry.signal.aborted) return { content: `${printed}\n[ended after ${limit} ms: the time limit]`.trim(), failed: true };
    if (exit === 0) return { content: printed || '(no output)', failed: false };
    return { content: `${printed}\n[exit code ${exit}]`.trim(), failed: true };
  };
}

const waitForEnd = (stream: Readable) => finished(stream).catch(() => {});

/** Collects the output in the order it arrived; if it is long, returns only its beginning and end. */
function collectOutput(streams: Readable[]): () => string {
  const half = OUTPUT_CHARACTERS / 2;
  let head = '';
  let tail = '';
  let dropped = 0;
  const append = (text: string) => {
    const room = half - head.length;
    if (room > 0) head += text.slice(0, room);
    tail += room > 0 ? text.slice(room) : text;
    if (tail.length > OUTPUT_CHARACTERS) {
      dropped += tail.length - half;
      tail = tail.slice(-half);
    }
  };
  for (const stream of streams)
    stream
      .setEncoding('utf8')
      .on('data', append)
      .on('error', () => {});
  return () => (dropped > 0 ? `${head}\n[${dropped} characters left out]\n${tail}` : head + tail).trimEnd();
}
