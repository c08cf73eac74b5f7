import type { KnowledgeService } from '../../api/ports.ts';
import type { KnowledgeSource } from '../../contracts/knowledge.ts';
import { sourceDestination } from '../../domain/destinations.ts';
import { formatRefusal } from '../../domain/errors.ts';
import { findOutage } from '../../domain/outages.ts';
import { fillTokens, listTokenNames, mapTexts } from '../../domain/secrets.ts';
import { findAnsweringAddress } from '../../egress/dial.ts';
import type { GuardedFetch } from '../../egress/guarded-fetch.ts';
import { fileReader, toReadLimits } from '../../knowledge/extract.ts';
import { createKnowledge, type Knowledge } from '../../knowledge/knowledge.ts';
import { createEmbedder, type EmbeddingsEndpoint } from '../../runtimes/embeddings.ts';
import type { Store } from '../../store/index.ts';
import type { SharedServices } from '../core.ts';
import type { SecretScope } from './secret-scope.ts';

interface Parts {
  store: Store;
  secrets: SecretScope;
  egress: GuardedFetch;
  embeddings: EmbeddingsEndpoint | null;
  /** The fetch for the embedding endpoint, which the operator set. */
  embeddingFetch: typeof globalThis.fetch;
}

export function openKnowledge({ store, egress, secrets, embeddings, embeddingFetch }: Parts): Knowledge {
  return createKnowledge({
    embedder: embeddings && createEmbedder(embeddings, embeddingFetch),
    fetch: egress.fetch,
    redact: () => secrets.redact,
    resolveAddress: (hostname, port) => findAnsweringAddress({ hostname, port }, egress.rules),
    find: store.knowledgeItems.search,
    async remoteSources({ source_ids, principal, task_id }) {
      const source_filter = source_ids ? { id: { in: source_ids } } : { created_by: principal };
      const sources = await store.knowledgeSources.listOpened({ ...source_filter, source_type: { not: 'builtin' } });
      return Promise.all(
        sources.map((source) =>
          fillStoredTokens(store, source, { principal, task_id }).catch((error: Error) => {
            if (findOutage(error)) throw error;
            return { ...source, refusal: formatRefusal(error) };
          }),
        ),
      );
    },
  });
}

/** Fills in the stored tokens of the source; throws an error with a readable message if one may not be used. */
async function fillStoredTokens(
  store: Store,
  source: KnowledgeSource,
  asking: { principal: string; task_id?: string | undefined },
): Promise<KnowledgeSource> {
  const values = new Map<string, string>();
  const destination = sourceDestination(source);
  for (const name of listTokenNames(source.connection_config))
    values.set(name, await store.tokens.open({ name, ...asking, destination }));
  const connection_config = mapTexts(source.connection_config, (text) => fillTokens(text, values)) as Record<string, unknown>;
  return { ...source, connection_config };
}

export const createKnowledgeService = ({
  store,
  knowledge,
  parsers,
  setting,
}: Pick<SharedServices, 'store' | 'knowledge' | 'parsers' | 'setting'>): KnowledgeService => ({
  ...knowledge,
  extract: fileReader(parsers, toReadLimits(setting.config)),
  async probe({ id }, caller) {
    const source = await store.knowledgeSources.findOpened(id);
    if (source) await knowledge.probe(await fillStoredTokens(store, source, { principal: caller.key }));
  },
});
