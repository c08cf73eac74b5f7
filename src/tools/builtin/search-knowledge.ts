import type { Passage } from '../../domain/knowledge.ts';
import type { RunContext, ToolCall, ToolOutcome } from '../source.ts';
import { entryCount, storableText } from './memory.ts';
import type { Builtin } from './tool.ts';

export const searchKnowledgeTool: Builtin<KnowledgePorts> = {
  spec: {
    name: 'search_knowledge',
    description: "Searches this agent's knowledge sources. Cite what you use by its name in square brackets.",
    effect: 'read',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer', description: '1 to 50, 10 by default' } },
      required: ['query'],
    },
  },
  works_on: 'knowledge',
  at_vendor: false,
  create: searchKnowledge,
};

export interface KnowledgePorts {
  /** Searches the sources that the run was pinned with. */
  searchKnowledge(run: RunContext, query: string, limit: number): Promise<{ items: Passage[]; warnings: string[] }>;
}

const LONGEST = 10_000;

function searchKnowledge({ searchKnowledge: search }: KnowledgePorts) {
  return async ({ arguments: { limit, ...args }, run }: ToolCall): Promise<ToolOutcome> => {
    const query = storableText(args.query, LONGEST);
    if (query === null) return { content: 'query must be a text that is not empty', failed: true };
    const { items, warnings } = await search(run, query, entryCount(limit));
    const passages = items.map(({ name, content, score }) => ({ name, content, score: Number(score.toFixed(3)) }));
    return { content: JSON.stringify({ passages, ...(warnings.length > 0 ? { warnings } : {}) }), failed: false };
  };
}
