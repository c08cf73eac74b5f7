import { randomBytes } from 'node:crypto';
import type { Guardrail } from '../contracts/guardrails.ts';
import type { Provider } from '../contracts/providers.ts';
import type { Skill } from '../contracts/skills.ts';
import { mergeExchangeLimits, type PinnedGuardrail } from '../domain/definition.ts';
import { INSTALLATION } from '../domain/installation.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { toolsRole } from './database/as-tools-role.ts';
import { type Database, RUN_STATEMENT_MS, rows, withTimeLimit } from './database/database.ts';
import { idempotencyStore } from './database/idempotency.ts';
import { probeWriting } from './database/installation.sql.ts';
import { resource, translateConstraintErrors } from './database/resource.ts';
import { listReferrers, type Used } from './database/uses.ts';
import { auditQueueStore, auditStore } from './people/audit.ts';
import { browserSessionStore } from './people/browser-sessions.ts';
import { personSettings } from './people/person-settings.ts';
import { principalStore } from './people/principals.ts';
import { quotaStore } from './people/quotas.ts';
import { serviceKeyStore } from './people/service-keys.ts';
import { agentStore } from './resources/agents.ts';
import { alertStore } from './resources/alerts.ts';
import { budgetStore } from './resources/budgets.ts';
import { chatStore } from './resources/chat.ts';
import { customToolStore } from './resources/custom-tools.ts';
import { datasetStore } from './resources/datasets.ts';
import { definitionStore } from './resources/definitions.ts';
import { knowledgeItemStore } from './resources/knowledge.ts';
import { mcpListingStore } from './resources/mcp-listings.ts';
import { memoryStore } from './resources/memories.ts';
import { modelCatalogueStore } from './resources/model-catalogue.ts';
import { sampleStore } from './resources/samples.ts';
import { scheduleStore } from './resources/scheduled-agents.ts';
import { transferStore } from './resources/transfer.ts';
import { versionStore } from './resources/versions.ts';
import { workflowStore } from './resources/workflows.ts';
import { attachmentStore } from './runs/attachments.ts';
import { branchStore } from './runs/branches.ts';
import { capStore } from './runs/caps.ts';
import { continuityStore } from './runs/continuity.ts';
import { conversationStore } from './runs/conversations.ts';
import { cursorStore } from './runs/cursors.ts';
import { epochStore } from './runs/epoch.ts';
import { evaluationStore } from './runs/evaluations.ts';
import { eventStore } from './runs/events.ts';
import { forkStore } from './runs/forks.ts';
import { inboxStore } from './runs/inbox.ts';
import { inspectionStore } from './runs/inspection.ts';
import { namedWindows } from './runs/named-windows.ts';
import { type Asker, findSnapshot, pinProvider } from './runs/pin.ts';
import { providerRates } from './runs/provider-rates.ts';
import { runStore } from './runs/runs.ts';
import { scoreStore } from './runs/scores.ts';
import type { Publish } from './runs/settlement.ts';
import { chatGuardrails, notJoinedByTag, unjoinedOfAgent, unjoinedOfWorkflow } from './runs/snapshots.sql.ts';
import { taskStore } from './runs/tasks.ts';
import { threadMessageStore } from './runs/thread-messages.ts';
import { threadStore } from './runs/threads.ts';
import { toolLedger } from './runs/tool-ledger.ts';
import { webhookStore } from './runs/webhooks.ts';
import { workspaceLayers } from './runs/workspace-layers.ts';
import { connectionStores } from './secrets/connections.ts';
import { grantKeys } from './secrets/grant-keys.ts';
import { createGranting } from './secrets/granting.ts';
import { grantStore } from './secrets/grants.ts';
import type { KeyRing } from './secrets/key-ring.ts';
import { mcpSignInStore } from './secrets/mcp-sign-ins.ts';
import { tokenStore } from './secrets/tokens.ts';
import { webhookSecretStore } from './secrets/webhook-secrets.ts';
import { retentionStore } from './upkeep/retention.ts';
import { sizeStore } from './upkeep/sizes.ts';
import { usageStore } from './upkeep/usage.ts';
import { workerBeatStore } from './upkeep/worker-beats.ts';
import { workloadStore } from './upkeep/workload.ts';

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
  /** The administrators: their shared resources join other users' agents by tag. */
  admins?: readonly string[];
  /** True if the process only calls tools, perhaps with the database role made for that. */
  only_tools?: boolean;
}

const toNobody: Publish = () => {};

/** Creates the whole store, one part per resource. `publish` receives events after they are written. */
export function createStore({
  database: { pool, prisma },
  keys,
  publish = toNobody,
  admins = [],
  only_tools = false,
}: StoreOptions) {
  const trusted = [...admins, INSTALLATION];
  const quick = withTimeLimit(pool, RUN_STATEMENT_MS);
  const isToolsRole = toolsRole(quick, only_tools);
  const memories = memoryStore(pool, prisma);
  const fingerprints = grantKeys(pool, keys);
  const granting = createGranting({ prisma, keys, fingerprints });
  const connections = connectionStores(prisma, keys);
  const createProviderStore = (on: Prisma.TransactionClient) =>
    resource<Provider>(on.provider, { noun: 'provider', has_tags: false });
  const listings = mcpListingStore({ pool, prisma, fingerprints, listOpened: connections.mcpServers.listOpened });
  const snapshot = (workflow_id: string, asker: Asker = {}) => findSnapshot(pool, workflow_id, { ...asker, admins: trusted });
  return {
    agents: agentStore({ prisma, listings, admins: trusted }),
    providers: { ...createProviderStore(prisma), ...granting.writes('provider', createProviderStore) },
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
    attachments: attachmentStore(prisma, pool),
    conversations: conversationStore({ pool, prisma }),
    tasks: taskStore({ pool, prisma, keys, publish }),
    runs: runStore(quick, publish),
    caps: capStore(quick),
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
    windows: namedWindows(pool),
    modelCatalogue: modelCatalogueStore(pool),
    inbox: inboxStore(pool),
    inspection: inspectionStore(prisma),
    forks: forkStore(pool),
    events: eventStore(pool),
    epoch: epochStore(pool),
    scheduledAgents: scheduleStore({ pool, prisma, keys }),
    alerts: alertStore({ pool, prisma }),
    budgets: budgetStore({ pool, prisma }),
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
    workerBeats: workerBeatStore({ pool }),
    usage: usageStore({ pool }),
    scores: scoreStore({ pool, prisma }),
    datasets: datasetStore({ pool, prisma }),
    branches: branchStore(pool),
    threads: threadStore({ pool, prisma }),
    messages: threadMessageStore({ pool, keys, publish }),
    evaluations: evaluationStore({ pool, prisma, keys, snapshot }),
    /** Returns the guardrails of a principal's workflows with an agent. They also apply in chats with it. */
    chatGuardrails: (agent_id: string, owner: string) =>
      rows<PinnedGuardrail>(pool, chatGuardrails({ agent_id, owner, admins: trusted })),
    /** Lists, as sentences, the resources that have a tag of an agent or workflow and still do not join it. */
    notJoined: async () =>
      (await rows<{ sentence: string }>(pool, notJoinedByTag({ admins: trusted }))).map(({ sentence }) => sentence),
    /** List the resources that would not join an agent or a workflow with these values, with the fields of its tags and ids. */
    unjoined: {
      agent: (values: TaggedAgent) => rows<Unjoined>(pool, unjoinedOfAgent({ ...values, admins: trusted })),
      workflow: (values: TaggedWorkflow) => rows<Unjoined>(pool, unjoinedOfWorkflow({ ...values, admins: trusted })),
    },
    /** Lists the users of a record, as `agent name` or `workflow title`, limited to what the viewer may see. */
    usersOf: (table: Used, id: string, viewer: string) => listReferrers(prisma, { table, id }, viewer),
    /** Deletes an agent with its memories and chats. */
    async removeAgent(id: string): Promise<void> {
      await translateConstraintErrors('agent', prisma.agent.delete({ where: { id } }));
      await memories.forgetAgent(id);
    },
    snapshot,
    /** Returns the provider in the form that a run is pinned with; null if there is no such provider. */
    async providerToPin(id: string) {
      const provider = await createProviderStore(prisma).find(id);
      return provider && { provider: pinProvider(provider), exchange_limits: mergeExchangeLimits(null, provider) };
    },
    /** Returns those of the ids that are missing from a table. */
    async missing(
      table: 'agent' | 'provider' | 'customTool' | 'skill' | 'guardrail' | 'mcpServer' | 'knowledgeSource' | 'workflow',
      ids: string[],
    ) {
      if (ids.length === 0) return [];
      const model = prisma[table] as unknown as { findMany(args: object): Promise<{ id: string }[]> };
      const existing_ids = new Set(
        (await model.findMany({ where: { id: { in: ids } }, select: { id: true } })).map(({ id }) => id),
      );
      return ids.filter((id) => !existing_ids.has(id));
    },
    /** Checks the database by writing: one that answers may have no room left. */
    async ping(): Promise<void> {
      await rows(pool, probeWriting({ text: randomBytes(PROBE_BYTES).toString('base64') }));
    },
  };
}
