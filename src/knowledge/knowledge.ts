import { splitIntoChunks } from '../domain/chunks.ts';
import { extractKeywords, type Passage } from '../domain/knowledge.ts';
import { textWithReason } from '../domain/reason.ts';
import type { Redactor } from '../domain/redaction.ts';
import type { Store } from '../store/index.ts';
import { type RemotePorts, type RemoteSource, searchRemote } from './remote.ts';

/** Turns texts into vectors; throws what its endpoint client throws. */
interface Embedder {
  name: string;
  embed(texts: readonly string[]): Promise<number[][]>;
}

interface IndexedText {
  chunks: { content: string; embedding: number[] | null }[];
  embedder: string | null;
  status: 'indexed' | 'text_only';
  last_error: string | null;
}

export interface Search {
  query?: string | undefined;
  tags?: string[] | undefined;
  /** The sources to search; left out: all builtin sources, and the principal's own external ones. */
  source_ids?: string[] | undefined;
  limit: number;
  /** The principal in whose name stored tokens are opened. */
  principal: string;
  /** The run that searches, if a run does. */
  task_id?: string | undefined;
}

interface SearchResult {
  items: Passage[];
  /** A warning for each source that was not searched, or not fully, with the reason. */
  warnings: string[];
}

interface SourceRow extends RemoteSource {
  id: string;
  name: string;
  /** The reason why the source's secrets cannot be filled in; if set, the source is not called. */
  refusal?: string;
}

interface KnowledgePorts extends RemotePorts {
  /** The embedding endpoint; null: there is none. */
  embedder: Embedder | null;
  /** Returns redactors for the secrets that were opened to call a source or endpoint; they are applied to its answer. */
  redact(): Pick<Redactor, 'text' | 'value' | 'error'>;
  /** Finds stored chunks that share words with a question, or are similar to it. */
  find: Store['knowledgeItems']['search'];
  /** Returns external sources with their secrets opened: those with the given ids, or else the principal's own. */
  remoteSources(search: Pick<Search, 'source_ids' | 'principal' | 'task_id'>): Promise<SourceRow[]>;
}

export type Knowledge = ReturnType<typeof createKnowledge>;

const NO_EMBEDDER = 'No embedding endpoint is configured (EMBEDDINGS_BASE_URL); the search uses words only';

/**
 * Indexes texts and searches them by words and by meaning. If the embedding endpoint is down, only the search by meaning is
 * lost.
 */
export function createKnowledge(ports: KnowledgePorts) {
  const { embedder } = ports;
  const formatError = (error: unknown) => ports.redact().text(textWithReason(error as Error));

  async function embedQuery(query: string): Promise<{ vector: number[] | null; warning: string | null }> {
    if (!embedder) return { vector: null, warning: NO_EMBEDDER };
    try {
      return { vector: (await embedder.embed([query]))[0]!, warning: null };
    } catch (error) {
      return { vector: null, warning: `${formatError(error)}; the search uses words only` };
    }
  }

  async function searchElsewhere(search: Search, vector: number[] | null): Promise<SearchResult> {
    const warnings: string[] = [];
    const hits = await Promise.all(
      (await ports.remoteSources(search)).map(async (source) => {
        try {
          if (source.refusal) throw new Error(source.refusal);
          if (!vector) throw new Error('it can be searched by meaning only');
          return ports
            .redact()
            .value(await searchRemote(source, vector, { limit: search.limit, ports }))
            .map((hit) => toPassage(source, hit));
        } catch (error) {
          warnings.push(`The source ${source.name} was not searched: ${formatError(error)}`);
          return [];
        }
      }),
    );
    return { items: hits.flat(), warnings };
  }

  return {
    embeds: embedder !== null,

    /** Splits a text into chunks and adds their vectors, if these are available. */
    async index(text: string): Promise<IndexedText> {
      const contents = splitIntoChunks(text);
      const bare = contents.map((content) => ({ content, embedding: null }));
      if (!embedder) return { chunks: bare, embedder: null, status: 'text_only', last_error: NO_EMBEDDER };
      try {
        const vectors = await embedder.embed(contents);
        const chunks = contents.map((content, index) => ({ content, embedding: vectors[index]! }));
        return { chunks, embedder: embedder.name, status: 'indexed', last_error: null };
      } catch (error) {
        return { chunks: bare, embedder: null, status: 'text_only', last_error: formatError(error) };
      }
    },

    async search(search: Search): Promise<SearchResult> {
      const { query, tags, source_ids, limit } = search;
      if (!query?.trim())
        return { items: await ports.find({ words: [], vector: null, embedder: null, tags, source_ids, limit }), warnings: [] };
      const { vector, warning } = await embedQuery(query);
      const search_request = { words: extractKeywords(query), vector, embedder: embedder?.name ?? null, tags, source_ids, limit };
      const [here, remote_results] = await Promise.all([
        ports.find(search_request),
        tags?.length ? { items: [], warnings: [] } : searchElsewhere(search, vector),
      ]);
      const items = [...here, ...remote_results.items].sort((a, b) => b.score - a.score).slice(0, limit);
      return { items, warnings: [...(warning ? [warning] : []), ...remote_results.warnings] };
    },

    /** Throws a sentence if an external source cannot be searched. */
    async probe(source: SourceRow): Promise<void> {
      if (!embedder) throw new Error(NO_EMBEDDER);
      try {
        const [vector] = await embedder.embed(['test']);
        await searchRemote(source, vector!, { limit: 1, ports });
      } catch (error) {
        throw new Error(formatError(error));
      }
    },
  };
}

function toPassage(
  source: SourceRow,
  { content, name, score }: { content: string; name: string | null; score: number },
): Passage {
  const vector_score = Math.min(1, Math.max(0, score));
  const facts = { item_id: null, source_id: source.id, tags: [], position: 0, text_score: null };
  return { ...facts, name: name ?? source.name, content, score: vector_score, vector_score };
}
