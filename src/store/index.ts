import { randomBytes } from 'node:crypto';
import type { Guardrail } from '../contracts/guardrails.ts';
import type { Provider } from '../contracts/providers.ts';
import type { Skill } from '../contracts/skills.ts';
import { exchangeLimitsOf, type PinnedGuardrail } from '../domain/definition.ts';
import { INSTALLATION } from '../domain/installation.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { agentStore } from './agents.ts';
import { alertStore } from './alerts.ts';
import { toolsRole } from './as-tools-role.ts';
import { attachmentStore } from './attachments.ts';
import { auditQueueStore, auditStore } from './audit.ts';
import { browserSessionStore } from './browser-sessions.ts';
import { chatStore } from './chat.ts';
import { connectionStores } from './connections.ts';
import { continuityStore } from './continuity.ts';
import { conversationStore } from './conversations.ts';
import { cursorStore } from './cursors.ts';
import { customToolStore } from './custom-tools.ts';
import { type Database, RUN_STATEMENT_MS, rows, within } from './database.ts';
import { datasetStore } from './datasets.ts';
import { definitionStore } from './definitions.ts';
import { epochStore } from './epoch.ts';
import { evaluationStore } from './evaluations.ts';
import { eventStore } from './events.ts';
import { forkStore } from './forks.ts';
import { grantKeys } from './grant-keys.ts';
import { createGranting } from './granting.ts';
import { grantStore } from './grants.ts';
import { idempotencyStore } from './idempotency.ts';
import { inspectionStore } from './inspection.ts';
import type { KeyRing } from './key-ring.ts';
import { knowledgeItemStore } from './knowledge.ts';
import { mcpListingStore } from './mcp-listings.ts';
import { mcpSignInStore } from './mcp-sign-ins.ts';
import { memoryStore } from './memories.ts';
import { personSettings } from './person-settings.ts';
import { pinnedProvider, snapshotOf } from './pin.ts';
import { principalStore } from './principals.ts';
import { providerRates } from './provider-rates.ts';
import { quotaStore } from './quotas.ts';
import { refused, resource } from './resource.ts';
import { retentionStore } from './retention.ts';
import { type Publish, runStore } from './runs.ts';
import { sampleStore } from './samples.ts';
import { scheduleStore } from './scheduled-agents.ts';
import { scoreStore } from './scores.ts';
import { serviceKeyStore } from './service-keys.ts';
import { sizeStore } from './sizes.ts';
import { probeWriting } from './statements/installation.ts';
import { chatGuardrails, notJoinedByTag, unjoinedOfAgent, unjoinedOfWorkflow } from './statements/snapshots.ts';
import { taskStore } from './tasks.ts';
import { tokenStore } from './tokens.ts';
import { toolLedger } from './tool-ledger.ts';
import { transferStore } from './transfer.ts';
import { usageStore } from './usage.ts';
import { type Used, usersOf } from './uses.ts';
import { versionStore } from './versions.ts';
import { webhookSecretStore } from './webhook-secrets.ts';
import { webhookStore } from './webhooks.ts';
import { workflowStore } from './workflows.ts';
import { workloadStore } from './workload.ts';
import { workspaceLayers } from './workspace-layers.ts';

const PROBE_BYTES = 12_288;

export type Store = ReturnType<typeof createStore>;

interface TaggedAgent {
  created_by: string;
  mcp_server_tags: string[];
  mcp_server_ids: string[];
  required_mcp_servers: string[];
  knowledge_tags: string[];
  knowledge_source_ids: string[];
}

interface TaggedWorkflow {
  owner: string;
  skill_tags: string[];
  skill_ids: string[];
  guardrail_tags: string[];
  guardrail_ids: string[];
}

/** A resource that has a tag and does not join, such as `guardrail no secrets`. */
export interface Unjoined {
  path: string;
  ids: string;
  sentence: string;
}

interface StoreOptions {
  database: Database;
  keys: KeyRing;
  publish?: Publish;
  /** Administrators: their shared resources join other users' agents by tag. */
  admins?: readonly string[];
  /** Whether the process only calls tools, perhaps with the database role made for that. */
  only_tools?: boolean;
}

/** The whole store, one part per resource. `publish` receives events after they are written. */
export function createStore({ database: { pool, prisma }, keys, publish, admins = [], only_tools = false }: StoreOptions) {
  const trusted = [...admins, INSTALLATION];
  const quick = within(pool, RUN_STATEMENT_MS);
  const isToolsRole = toolsRole(quick, only_tools);
  const memories = memoryStore(pool, prisma);
  const fingerprints = grantKeys(pool, keys);
  const granting = createGranting({ prisma, keys, fingerprints });
  const connections = connectionStores(prisma, keys);
  const providersIn = (on: Prisma.TransactionClient) => resource<Provider>(on.provider, { noun: 'provider', tagged: false });
  const listings = mcpListingStore({ pool, prisma, fingerprints, openedAll: connections.mcpServers.openedAll });
  const snapshot = (workflow_id: string) => snapshotOf(pool, workflow_id, trusted);
  return {
    agents: agentStore({ prisma, listings, admins: trusted }),
    providers: { ...providersIn(prisma), ...granting.writes('provider', providersIn) },
    customTools: { ...customToolStore(prisma), ...granting.writes('custom_tool', customToolStore) },
    mcpServers: {
      ...connections.mcpServers,
      ...granting.writes('mcp_server', (on) => connectionStores(on, keys).mcpServers),
    },
    mcpListings: listings,
    mcpSignIns: mcpSignInStore({ pool, prisma }, keys),
    knowledgeSources: {
      ...connections.knowledgeSources,
      ...granting.writes('knowledge_source', (on) => connectionStores(on, keys).knowledgeSources),
    },
    tokens: tokenStore({ pool, prisma, fingerprints }, keys),
    grants: grantStore({ prisma, keys, fingerprints }),
    workflows: workflowStore({ pool, prisma, granting }),
    versions: versionStore({ pool, prisma, snapshot, sealer: connections.mcpServers.sealer }),
    attachments: attachmentStore(prisma),
    conversations: conversationStore({ pool, prisma }),
    tasks: taskStore({ pool, prisma, keys, ...(publish ? { publish } : {}) }),
    runs: runStore(quick, publish),
    ledger: toolLedger(quick, publish),
    workspaceLayers: workspaceLayers(quick),
    continuity: continuityStore(quick, publish),
    skills: resource<Skill>(prisma.skill, { noun: 'skill' }),
    guardrails: resource<Guardrail>(prisma.guardrail, { noun: 'guardrail' }),
    memories,
    knowledgeItems: knowledgeItemStore(pool, prisma),
    transfer: transferStore({ prisma, keys, granting }),
    definitions: definitionStore(quick, isToolsRole),
    cursors: cursorStore(pool),
    rates: providerRates(pool),
    inspection: inspectionStore(prisma),
    forks: forkStore(pool),
    events: eventStore(pool),
    epoch: epochStore(pool),
    scheduledAgents: scheduleStore({ pool, prisma, keys }),
    alerts: alertStore({ pool, prisma }),
    chat: chatStore(prisma),
    webhooks: webhookStore({ pool, prisma }),
    webhookSecrets: webhookSecretStore({ pool, prisma }, keys),
    principals: principalStore(prisma),
    browserSessions: browserSessionStore(prisma),
    settings: personSettings(prisma),
    serviceKeys: serviceKeyStore(prisma),
    audit: auditStore({ pool: quick, prisma }),
    auditQueue: auditQueueStore({ pool, prisma }),
    quotas: quotaStore(pool, isToolsRole),
    idempotency: idempotencyStore(prisma),
    samples: sampleStore(prisma),
    retention: retentionStore({ pool }),
    sizes: sizeStore({ pool }),
    workload: workloadStore({ pool }),
    usage: usageStore({ pool }),
    scores: scoreStore({ pool, prisma }),
    datasets: datasetStore({ pool, prisma }),
    evaluations: evaluationStore({ pool, prisma, keys, snapshot }),
    /** The guardrails of a principal's workflows with an agent. They also apply in chats with it. */
    chatGuardrails: (agent_id: string, owner: string) =>
      rows<PinnedGuardrail>(pool, chatGuardrails({ agent_id, owner, admins: trusted })),
    /** Resources that have a tag of an agent or workflow and still do not join it, as sentences. */
    notJoined: async () =>
      (await rows<{ sentence: string }>(pool, notJoinedByTag({ admins: trusted }))).map(({ sentence }) => sentence),
    /** The same for an agent or a workflow with these values, with the fields of its tags and ids. */
    unjoined: {
      agent: (values: TaggedAgent) => rows<Unjoined>(pool, unjoinedOfAgent({ ...values, admins: trusted })),
      workflow: (values: TaggedWorkflow) => rows<Unjoined>(pool, unjoinedOfWorkflow({ ...values, admins: trusted })),
    },
    /** What refers to a record, as `agent name` or `workflow title`, limited to what the viewer may see. */
    usersOf: (table: Used, id: string, viewer: string) => usersOf(prisma, { table, id }, viewer),
    /** Deletes an agent with its memories and chats. */
    async removeAgent(id: string): Promise<void> {
      await refused('agent', prisma.agent.delete({ where: { id } }));
      await memories.forgetAgent(id);
    },
    snapshot,
    /** What a run that uses a provider is pinned with; null if there is no such provider. */
    async providerToPin(id: string) {
      const found = await providersIn(prisma).find(id);
      return found && { provider: pinnedProvider(found), exchange_limits: exchangeLimitsOf(null, found) };
    },
    /** Filters these ids to the ones missing from a table. */
    async missing(
      table: 'agent' | 'provider' | 'customTool' | 'skill' | 'guardrail' | 'mcpServer' | 'knowledgeSource' | 'workflow',
      ids: string[],
    ) {
      if (ids.length === 0) return [];
      const model = prisma[table] as unknown as { findMany(args: object): Promise<{ id: string }[]> };
      const found = new Set((await model.findMany({ where: { id: { in: ids } }, select: { id: true } })).map(({ id }) => id));
      return ids.filter((id) => !found.has(id));
    },
    /** Writes something: a database that answers may have no room left. */
    async ping(): Promise<void> {
      await rows(pool, probeWriting({ text: randomBytes(PROBE_BYTES).toString('base64') }));
    },
  };
}
