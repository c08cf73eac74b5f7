import type { KnowledgeSource } from '../../contracts/knowledge.ts';
import type { McpServer } from '../../contracts/mcps.ts';
import { SECRET_NAME } from '../../domain/secrets.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import type { KeyRing } from './key-ring.ts';
import { createSealedResource } from './sealed-resource.ts';

/** The seal context of knowledge sources. */
export const KNOWLEDGE_SOURCE = 'knowledge-source';

/** Configuration fields that are sent to the address or looked up there; every other field counts as part of the address. */
const SENT_TO_SERVER = ['headers', 'env', 'oauth'];
const SENT_TO_SOURCE = ['collection', 'table', 'text_field', 'text_column', 'embedding_column', 'user', 'database'];

const without = (config: unknown, names: readonly string[]) =>
  Object.fromEntries(Object.entries(config as object).filter(([name]) => !names.includes(name)));

/** Creates the stores of resources that connect to other services, with their secrets. */
export const connectionStores = (prisma: Prisma.TransactionClient, keys: KeyRing) => ({
  mcpServers: createSealedResource<McpServer>(prisma.mcpServer, {
    noun: 'MCP server',
    keys,
    context: 'mcp-server',
    getAddress: ({ transport_type, connection_config, network, paths }) => {
      return { transport_type, network, paths, ...without(connection_config, SENT_TO_SERVER) };
    },
  }),
  knowledgeSources: createSealedResource<KnowledgeSource>(prisma.knowledgeSource, {
    noun: 'knowledge source',
    keys,
    context: KNOWLEDGE_SOURCE,
    getAddress: ({ source_type, connection_config: config }) => {
      const keyed = Object.keys(config).filter((name) => SECRET_NAME.test(name));
      return { source_type, ...without(config, [...SENT_TO_SOURCE, ...keyed]) };
    },
  }),
});
