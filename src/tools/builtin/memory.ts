import { AppError } from '../../domain/errors.ts';
import type { Remembered } from '../../domain/memory.ts';
import { storable } from '../../domain/transcript.ts';
import type { RunContext, ToolCall, ToolOutcome } from '../source.ts';
import type { Builtin } from './tool.ts';

export interface MemoryPorts {
  /** Stores a value under a key, replacing the old one. Throws an `AppError` if the key is someone else's or the quota is full. */
  storeMemory(run: RunContext, memory: Remembered & { scope: 'agent' | 'session' | 'global' }): Promise<void>;
  /** Returns the run's memories about a question, best first. */
  searchMemory(run: RunContext, query: string, limit: number): Promise<Remembered[]>;
}

const SCOPES = ['agent', 'session', 'global'] as const;
type Scope = (typeof SCOPES)[number];

export const storeMemoryTool: Builtin<MemoryPorts> = {
  spec: {
    name: 'store_memory',
    description: 'Remembers a fact for later runs. The same key again replaces what was remembered under it.',
    effect: 'idempotent',
    brief: true,
    parameters: {
      type: 'object',
      properties: {
        key: { type: 'string', description: 'A short name' },
        value: { type: 'string', description: 'The fact, as a sentence' },
        scope: {
          type: 'string',
          enum: [...SCOPES],
          description: 'Who recalls it: all runs of this agent (default), runs of this workflow, or all agents',
        },
      },
      required: ['key', 'value'],
    },
  },
  works_on: 'memory',
  at_vendor: false,
  create: storeMemory,
};

export const searchMemoryTool: Builtin<MemoryPorts> = {
  spec: {
    name: 'search_memory',
    description: 'Looks up what was remembered in earlier runs.',
    effect: 'read',
    brief: true,
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer', description: '1 to 50, 10 by default' } },
      required: ['query'],
    },
  },
  works_on: 'memory',
  at_vendor: false,
  create: searchMemory,
};

const MOST = 50;
const USUAL = 10;
const LONGEST_KEY = 500;
const LONGEST_VALUE = 100_000;

export const entryCount = (value: unknown) => (Number.isInteger(value) ? Math.min(MOST, Math.max(1, value as number)) : USUAL);

function storeMemory(ports: MemoryPorts) {
  return async ({ arguments: { scope = 'agent', ...args }, run }: ToolCall): Promise<ToolOutcome> => {
    const [key, value] = [storableText(args.key, LONGEST_KEY), storableText(args.value, LONGEST_VALUE)];
    if (key === null || value === null) return { content: 'key and value must be texts that are not empty', failed: true };
    if (!SCOPES.includes(scope as Scope)) return { content: `scope must be one of ${SCOPES.join(', ')}`, failed: true };
    try {
      await ports.storeMemory(run, { key, value, scope: scope as Scope });
    } catch (error) {
      if (error instanceof AppError) return { content: error.message, failed: true };
      throw error;
    }
    return { content: `Remembered under ${key}.`, failed: false };
  };
}

function searchMemory(ports: MemoryPorts) {
  return async ({ arguments: { limit, ...args }, run }: ToolCall): Promise<ToolOutcome> => {
    const query = storableText(args.query, LONGEST_VALUE);
    if (query === null) return { content: 'query must be a text that is not empty', failed: true };
    const found = await ports.searchMemory(run, query, entryCount(limit));
    if (found.length === 0) return { content: 'Nothing is remembered about that.', failed: false };
    return { content: JSON.stringify(found.map(({ key, value }) => ({ key, value }))), failed: false };
  };
}

/** Returns an argument as it can be stored and looked up; null if it is blank, too long or anything but text. */
export const storableText = (value: unknown, longest: number): string | null =>
  typeof value === 'string' && value.trim() !== '' && value.length <= longest ? storable(value) : null;
