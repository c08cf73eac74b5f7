import type { KnowledgeSource } from '../contracts/knowledge.ts';
import type { McpServer } from '../contracts/mcps.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { KeyRing } from './key-ring.ts';
import { sealedResource } from './sealed-resource.ts';

/** What the seals of knowledge sources are tied to. */
export const KNOWLEDGE_SOURCE = 'knowledge-source';

/** Resources that lead elsewhere, with the secrets that takes. */
export const connectionStores = (prisma: PrismaClient, keys: KeyRing) => ({
  mcpServers: sealedResource<McpServer>(prisma.mcpServer, { noun: 'MCP server', keys, context: 'mcp-server' }),
  knowledgeSources: sealedResource<KnowledgeSource>(prisma.knowledgeSource, {
    noun: 'knowledge source',
    keys,
    context: KNOWLEDGE_SOURCE,
  }),
});
