import { listReferenceWarnings, NO_RECORD } from '../../contracts/agents.ts';
import { SOURCE_TYPES } from '../../contracts/knowledge.ts';
import { MASK } from '../../contracts/mcps.ts';
import type { FullImport } from '../../contracts/transfer.ts';
import { remoteAddressRefusal } from '../../domain/remote-address.ts';
import { mapTexts } from '../../domain/secrets.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { KNOWLEDGE_SOURCE } from '../secrets/connections.ts';
import type { KeyRing } from '../secrets/key-ring.ts';
import { configSealer } from '../secrets/sealed-config.ts';
import { scheduleColumns } from './scheduled-agents.ts';

/** The parts of an import; an omitted part is empty. */
export type ImportParts = Partial<
  Pick<FullImport, 'skills' | 'guardrails' | 'agents' | 'workflows' | 'knowledge_sources' | 'scheduled_agents'>
>;
export type PartName = keyof ImportParts;

export interface Importer {
  /** The importer's key, `provider:subject`. */
  key: string;
  login: string;
}

/** The record that an item would create; `values` is null if `error` gives the reason why it cannot. */
export interface Draft {
  title: string | null;
  values: object | null;
  error: string | null;
  warnings: string[];
  /** The fields whose references the record was created without. */
  dropped_references: string[];
}

export type DraftMaker = (items: object[]) => Promise<Draft[]>;

type Items<P extends PartName> = FullImport[P];
type Referred = 'agent' | 'provider' | 'customTool' | 'mcpServer' | 'knowledgeSource' | 'skill' | 'guardrail' | 'storedToken';
type Tables = Pick<Prisma.TransactionClient, Referred | 'workflow'>;

/** Returns an error of an item that types cannot express; null if there is none. */
export type FaultOf = (item: object) => string | null;

/** Accepted aliases of source types. */
const ALIASES: Record<string, string> = { mongo_db: 'builtin' };

const refusal = (title: string | null, error: string): Draft => ({
  title,
  values: null,
  error,
  warnings: [],
  dropped_references: [],
});
const draft = (title: string | null, values: object, warnings: string[] = [], dropped_references: string[] = []): Draft => ({
  title,
  values,
  error: null,
  warnings,
  dropped_references,
});

interface Making {
  importer: Importer;
  keys: KeyRing;
  faultOf: FaultOf;
}

/** Validates the items of each part, in one batch per part. */
export function draftMakers(tx: Tables, { importer, keys, faultOf }: Making): Record<PartName, DraftMaker> {
  const created_by = importer.key;
  const makers = {
    async skills(items: Items<'skills'>) {
      return items.map(({ id: _, ...item }) => draft(item.name, { ...item, created_by }));
    },
    async knowledge_sources(items: Items<'knowledge_sources'>) {
      const sealer = configSealer(keys, KNOWLEDGE_SOURCE);
      return items.map(({ id: _, source_type: sent_type, connection_config, ...item }) => {
        const source_type = ALIASES[sent_type] ?? sent_type;
        if (!(SOURCE_TYPES as readonly string[]).includes(source_type))
          return refusal(item.name, `source_type: ${sent_type} is none of ${SOURCE_TYPES.join(', ')}`);
        const address_error = remoteAddressRefusal(source_type, connection_config.url, MASK);
        if (address_error !== null) return refusal(item.name, `connection_config.url: ${address_error}`);
        const values = { ...item, source_type, connection_config: sealer.seal(connection_config), created_by };
        return draft(item.name, values, listMaskedPaths(connection_config));
      });
    },
    async guardrails(items: Items<'guardrails'>) {
      return items.map((sent_item) => {
        const { id: _, ...item } = sent_item;
        const error = faultOf(sent_item);
        return error ? refusal(item.name, error) : draft(item.name, { ...item, created_by });
      });
    },
    async agents(sent_items: Items<'agents'>) {
      const { items, dropped_references } = withoutForeignIds(sent_items, AGENT_REFERENCES);
      const absent = await listMissingReferences(tx, items.map(withoutStandIns), { ...AGENT_REFERENCES, fallbacks: 'provider' });
      return items.map(({ id: _, ...item }, index) => {
        const error = faultOf(sent_items[index] as object);
        if (error) return refusal(item.name, error);
        const dropped_fields = dropped_references[index]!;
        const warnings = [
          ...absent[index]!,
          ...warnAboutDroppedIds(dropped_fields),
          ...listReferenceWarnings(item).map(({ message }) => message),
        ];
        return draft(item.name, { ...item, created_by }, warnings, dropped_fields);
      });
    },
    async workflows(sent_items: Items<'workflows'>) {
      const { items: local_items, dropped_references } = withoutForeignIds(sent_items, WORKFLOW_REFERENCES);
      const { items, masked: masked_fields } = withoutMaskedWebhooks(local_items);
      const agents = await findAgentsByName(tx, items);
      const tokens = await listOwnTokens(tx, created_by);
      const absent = await listMissingReferences(tx, items, WORKFLOW_REFERENCES);
      return items.map(({ id: _, ...item }, index) => {
        const error = faultOf(sent_items[index] as object);
        if (error) return refusal(item.title, error);
        const lacks = agents.get(item.agent_id);
        if (!lacks) return refusal(item.title, `agent_id: No agent with id ${item.agent_id}; import agents first`);
        const unknown = listTokenNames(item).filter((name) => !tokens.has(name));
        const warnings = [
          ...unknown.map((name) => `You have no stored token named ${name} here yet`),
          ...masked_fields[index]!.map((field) => `${field} was masked in the bundle; set its value again`),
        ];
        const dropped_fields = dropped_references[index]!;
        const unsafe = [...warnAboutDroppedIds(dropped_fields), ...absent[index]!, ...lacks];
        // Without its guardrails or skills it would not do what its author meant.
        const off = unsafe.length > 0 ? { status: 'inactive' } : {};
        if (unsafe.length > 0)
          warnings.push(...unsafe, 'It was created inactive because of this; set its status to active when it is complete');
        return draft(item.title, { ...item, ...off, owner: importer.key, owner_login: importer.login }, warnings, dropped_fields);
      });
    },
    async scheduled_agents(items: Items<'scheduled_agents'>) {
      const workflow_ids = items.map(({ workflow_id }) => workflow_id).filter(isUuid);
      const own = await tx.workflow.findMany({ where: { id: { in: workflow_ids }, owner: importer.key }, select: { id: true } });
      const workflows = new Set(own.map(({ id }) => id));
      return items.map((sent_item) => {
        const { id: _, start_at = new Date().toISOString(), ...item } = sent_item;
        const error = workflows.has(item.workflow_id)
          ? faultOf(sent_item)
          : `workflow_id: You have no workflow with id ${item.workflow_id}; import workflows first`;
        const owner = { owner: importer.key, owner_login: importer.login };
        const disabled = { enabled: false, disabled_reason: 'Imported; enable the schedule to run it' };
        return error
          ? refusal(item.name, error)
          : draft(item.name, { ...scheduleColumns({ ...item, start_at }), ...owner, ...disabled });
      });
    },
  };
  return makers as unknown as Record<PartName, DraftMaker>;
}

const WEBHOOKS = ['webhook_url', 'error_webhook_url'] as const;

/** Returns the items without the addresses that an export has masked, and the fields of these addresses. */
function withoutMaskedWebhooks(items: Items<'workflows'>) {
  const masked_fields = items.map((item) => WEBHOOKS.filter((field) => item[field]?.includes(MASK)));
  return {
    masked: masked_fields,
    items: items.map((item, index) => ({ ...item, ...Object.fromEntries(masked_fields[index]!.map((field) => [field, null])) })),
  };
}

const listTokenNames = ({
  repo_token_name,
  credential_overrides,
}: Pick<Items<'workflows'>[number], 'repo_token_name' | 'credential_overrides'>) => [
  ...(repo_token_name ? [repo_token_name] : []),
  ...Object.values(credential_overrides),
];

function listMaskedPaths(config: unknown): string[] {
  const paths: string[] = [];
  mapTexts(config, (text, { path }) => {
    if (text === MASK) paths.push(path);
    return text;
  });
  return paths.map((path) => `connection_config.${path} was masked in the bundle; set its value again`);
}

/** Returns the agents that workflows name, each with the parts that its runs would lack, as sentences. */
async function findAgentsByName(tx: Tables, items: { agent_id: string }[]): Promise<Map<string, string[]>> {
  const ids = [...new Set(items.map(({ agent_id }) => agent_id).filter(isUuid))];
  const select = { id: true, name: true, required_mcp_servers: true };
  const agents = await tx.agent.findMany({ where: { id: { in: ids } }, select });
  const absent = await listMissingReferences(tx, agents, { required_mcp_servers: 'mcpServer' });
  return new Map(agents.map(({ id, name }, index) => [id, absent[index]!.map((lack) => `Of its agent ${name}, ${lack}`)]));
}

const listOwnTokens = async (tx: Tables, created_by: string): Promise<Set<string>> =>
  new Set((await tx.storedToken.findMany({ where: { created_by }, select: { name: true } })).map(({ name }) => name));

/** Lists the references of each item that are missing from this installation, as sentences. Runs one query per table. */
async function listMissingReferences(tx: Tables, items: object[], references: Record<string, Referred>): Promise<string[][]> {
  const sentences: string[][] = items.map(() => []);
  for (const [field, table] of Object.entries(references)) {
    const ids_by_item = items.map((item) => [(item as Record<string, unknown>)[field] ?? []].flat() as string[]);
    const ids = [...new Set(ids_by_item.flat())].filter(isUuid);
    const model = tx[table] as unknown as { findMany(args: object): Promise<{ id: string }[]> };
    const existing_ids = new Set(
      (ids.length > 0 ? await model.findMany({ where: { id: { in: ids } }, select: { id: true } }) : []).map(({ id }) => id),
    );
    for (const [index, item_references] of ids_by_item.entries())
      sentences[index]?.push(
        ...describeIds(
          item_references.filter((one) => !existing_ids.has(one)),
          (id) => `${field}: ${id === NO_RECORD ? 'one' : id} is not in this installation`,
        ),
      );
  }
  return sentences;
}

const MOST_SENTENCES = 20;
const LONGEST_ID = 80;

/** Returns a sentence for each id, and one for the ids beyond the limit. */
function describeIds(ids: readonly string[], sentence: (id: string) => string): string[] {
  const first = ids.slice(0, MOST_SENTENCES).map((id) => sentence(id.slice(0, LONGEST_ID)));
  return ids.length > MOST_SENTENCES ? [...first, `${ids.length - MOST_SENTENCES} more like these`] : first;
}

/** Joins ids, and appends the number of those beyond the limit. */
function formatIds(ids: readonly string[]): string {
  const first = ids.slice(0, MOST_SENTENCES).map((id) => id.slice(0, LONGEST_ID));
  const more = ids.length - first.length;
  return more > 0 ? `${first.join(', ')} and ${more} more` : first.join(', ');
}

/**
 * Returns the items without references that cannot be ids of this service, such as those of another product, and a list of these.
 * A reference that runs require points to no record instead, so that runs are refused until someone sets it.
 */
function withoutForeignIds<T extends object>(
  items: T[],
  references: Record<string, Referred>,
): { items: T[]; dropped_references: string[][] } {
  const dropped_references: string[][] = [];
  const own_items = items.map((item) => {
    const sentences: string[] = [];
    const replacements: Record<string, unknown> = {};
    for (const field of Object.keys(references)) {
      const value = (item as Record<string, unknown>)[field] ?? [];
      const foreign_ids = ([value].flat() as string[]).filter((id) => !isUuid(id));
      if (foreign_ids.length === 0) continue;
      sentences.push(`${field}: ${formatIds(foreign_ids)}`);
      const own = ([value].flat() as string[]).filter(isUuid);
      const stand_in = field in REQUIRED_REFERENCES ? [NO_RECORD] : [];
      replacements[field] = Array.isArray(value) ? [...new Set([...own, ...stand_in])] : stand_in[0];
    }
    dropped_references.push(sentences);
    return { ...item, ...replacements };
  });
  return { items: own_items, dropped_references };
}

/** Returns what an agent refers to, without the ids that stand in for missing required references: `warnAboutDroppedIds` warns about these. */
const withoutStandIns = ({ provider_id, required_mcp_servers, fallbacks, ...item }: Items<'agents'>[number]) => ({
  ...item,
  fallbacks: fallbacks.flatMap((one) => one.provider_id ?? []),
  provider_id: provider_id === NO_RECORD ? null : provider_id,
  required_mcp_servers: required_mcp_servers.filter((id) => id !== NO_RECORD),
});

const warnAboutDroppedIds = ({ length }: string[]) =>
  length > 0 ? ['It was created without references that cannot be ids here; `errors` names them'] : [];

const AGENT_REFERENCES: Record<string, Referred> = {
  provider_id: 'provider',
  custom_tool_ids: 'customTool',
  mcp_server_ids: 'mcpServer',
  required_mcp_servers: 'mcpServer',
  knowledge_source_ids: 'knowledgeSource',
};
/** The references without which runs of an agent are refused. */
const REQUIRED_REFERENCES: Record<string, Referred> = { provider_id: 'provider', required_mcp_servers: 'mcpServer' };
const WORKFLOW_REFERENCES: Record<string, Referred> = { skill_ids: 'skill', guardrail_ids: 'guardrail' };
