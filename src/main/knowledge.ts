import type { KnowledgeService } from '../api/knowledge.ts';
import type { KnowledgeSource } from '../contracts/knowledge.ts';
import { filled, mapTexts, tokensIn } from '../domain/secrets.ts';
import type { GuardedFetch } from '../egress/guarded-fetch.ts';
import { extractText } from '../knowledge/extract.ts';
import { createKnowledge, type Knowledge } from '../knowledge/knowledge.ts';
import { type EmbeddingsEndpoint, embedderOf } from '../runtimes/embeddings.ts';
import type { Store } from '../store/index.ts';
import { resolveEgress } from '../toolrunner/egress-rules.ts';
import type { Core } from './core.ts';

interface Parts {
  store: Store;
  egress: GuardedFetch;
  embeddings: EmbeddingsEndpoint | null;
}

export function knowledgeOf({ store, egress, embeddings }: Parts): Knowledge {
  return createKnowledge({
    embedder: embeddings && embedderOf(embeddings),
    fetch: egress.fetch,
    addressOf: (hostname, port) => resolveEgress({ hostname, port }, egress.rules),
    find: store.knowledgeItems.search,
    async remoteSources(ids, principal) {
      const within = ids ? { id: { in: ids } } : {};
      const sources = await store.knowledgeSources.openedAll({ ...within, source_type: { not: 'builtin' } });
      return Promise.all(sources.map((source) => connected(store, source, principal)));
    },
  });
}

/** The source with stored tokens in their places. */
async function connected(store: Store, source: KnowledgeSource, principal: string): Promise<KnowledgeSource> {
  const values = new Map<string, string>();
  for (const name of tokensIn(source.connection_config)) {
    const opened = await store.tokens.open({ name, principal, purpose: `knowledge source ${source.name}` });
    if ('value' in opened) values.set(name, opened.value);
  }
  const connection_config = mapTexts(source.connection_config, (text) => filled(text, values)) as Record<string, unknown>;
  return { ...source, connection_config };
}

export const knowledgeServiceOf = ({ store, knowledge }: Pick<Core, 'store' | 'knowledge'>): KnowledgeService => ({
  ...knowledge,
  extract: extractText,
  async probe({ id }, caller) {
    const source = await store.knowledgeSources.opened(id);
    if (source) await knowledge.probe(await connected(store, source, caller.key));
  },
});
