import { pickTexts } from '../../domain/outside.ts';
import { getReason } from '../../domain/reason.ts';
import type { ToolCall, ToolOutcome } from '../source.ts';
import type { Builtin, BuiltinSettings } from './tool.ts';

export const webSearchTool: Builtin<SearchPorts> = {
  spec: {
    name: 'web_search',
    description: 'Searches the web. Returns titles, addresses and excerpts; read a page with web_fetch.',
    effect: 'read',
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to search for' },
        limit: { type: 'integer', minimum: 1, maximum: 20, description: 'Results; default 8' },
      },
      required: ['query'],
    },
  },
  works_on: 'web',
  at_vendor: true,
  isConfigured: ({ search_url }) => search_url !== null,
  create: webSearch,
};

/** The operator's search endpoint: SearXNG, or one that answers `?q=…&format=json` with `{results: [{title, url, content}]}` like it. */
export interface SearchPorts extends BuiltinSettings {
  /** Sends requests to the search endpoint: it is the operator's choice, so the egress guard is not asked. */
  searchFetch: typeof globalThis.fetch;
}

const TIMEOUT_MS = 20_000;
const RESULTS = 8;
const MOST_RESULTS = 20;

function webSearch({ search_url, searchFetch }: SearchPorts) {
  return async ({ arguments: { query, limit } }: ToolCall, signal: AbortSignal): Promise<ToolOutcome> => {
    if (typeof query !== 'string' || query.trim() === '') return { content: 'query must be a text', failed: true };
    const address = new URL(search_url!);
    address.searchParams.set('q', query);
    address.searchParams.set('format', 'json');
    try {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const response = await searchFetch(address, { signal: patience, headers: { accept: 'application/json' } });
      if (!response.ok) return { content: `The search endpoint answered ${response.status}`, failed: true };
      const { results } = Object(await response.json()) as { results?: unknown };
      if (!Array.isArray(results)) return { content: 'The search endpoint sent no list of results', failed: true };
      const most = Math.min(typeof limit === 'number' && limit > 0 ? limit : RESULTS, MOST_RESULTS);
      return { content: results.slice(0, most).map(resultLines).join('\n\n') || 'Nothing was found', failed: false };
    } catch (error) {
      signal.throwIfAborted();
      return { content: `The search endpoint failed: ${getReason(error)}`, failed: true };
    }
  };
}

function resultLines(result: unknown, index: number): string {
  const { title = '', url = '', content = '' } = pickTexts(result);
  return `${index + 1}. ${title}\n${url}\n${content}`.trim();
}
