import { v7 as uuid } from 'uuid';
import { MASK } from '../../contracts/mcps.ts';
import type { ImportResult, ResourceType } from '../../contracts/transfer.ts';
import { one } from '../../domain/errors.ts';
import { maskWebhook } from '../../domain/secrets.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts';
import { KNOWLEDGE_SOURCE } from '../secrets/connections.ts';
import type { Granting } from '../secrets/granting.ts';
import type { KeyRing } from '../secrets/key-ring.ts';
import { configSealer } from '../secrets/sealed-config.ts';
import { type ScheduleRow, toSchedule } from './scheduled-agents.ts';
import {
  type Draft,
  type DraftMaker,
  draftMakers,
  type FaultOf,
  type Importer,
  type ImportParts,
  type PartName,
} from './transfer-drafts.ts';

interface Part {
  name: PartName;
  noun: string;
  model: 'skill' | 'guardrail' | 'agent' | 'workflow' | 'knowledgeSource' | 'scheduledAgent';
}

/** The parts in dependency order: each comes after the parts it refers to. */
const PARTS: readonly Part[] = [
  { name: 'skills', noun: 'skill', model: 'skill' },
  { name: 'guardrails', noun: 'guardrail', model: 'guardrail' },
  { name: 'knowledge_sources', noun: 'knowledge source', model: 'knowledgeSource' },
  { name: 'agents', noun: 'agent', model: 'agent' },
  { name: 'workflows', noun: 'workflow', model: 'workflow' },
  { name: 'scheduled_agents', noun: 'scheduled agent', model: 'scheduledAgent' },
];

const MODELS: Record<ResourceType, Part['model']> = {
  skill: 'skill',
  guardrail: 'guardrail',
  agent: 'agent',
  workflow: 'workflow',
  knowledge_source: 'knowledgeSource',
  scheduled_agent: 'scheduledAgent',
};

/** The part of a Prisma model that imports and exports need. */
interface Table {
  findMany(args: object): Promise<({ id: string } & object)[]>;
  createManyAndReturn(args: object): Promise<{ id: string }[]>;
}
type Tables = Pick<Prisma.TransactionClient, Part['model']>;

const BATCH = 200;
const TIMEOUT_MS = 60_000;

const WEBHOOKS = ['webhook_url', 'error_webhook_url'];
const listWebhooks = (record: object) =>
  Object.entries(record).filter(
    (entry): entry is [string, string] => WEBHOOKS.includes(entry[0]) && typeof entry[1] === 'string',
  );

const DROPPED = 'Created without references that cannot be ids here; choose them again';

/** Thrown to roll back the transaction of a dry run. */
class Undone extends Error {}

interface Stores {
  prisma: PrismaClient;
  keys: KeyRing;
  granting: Granting;
}

export function transferStore({ prisma, keys, granting }: Stores) {
  const sealer = configSealer(keys, KNOWLEDGE_SOURCE);
  return {
    /** Returns the records of a type, oldest first, with their secrets sealed. */
    async records(type: ResourceType, { owner, id }: { owner?: string; id?: string } = {}) {
      const table = prisma[MODELS[type]] as unknown as Table;
      return table.findMany({ where: { ...(owner ? { owner } : {}), ...(id ? { id } : {}) }, orderBy: { id: 'asc' } });
    },

    /** Returns the readable form, in which secrets of a connection and keys in webhook addresses are masked. */
    maskRecord(record: object): object {
      if ('caller_token' in record) return toSchedule(record as ScheduleRow, Date.now());
      const masked_record = {
        ...record,
        ...Object.fromEntries(listWebhooks(record).map(([field, url]) => [field, maskWebhook(url, MASK)])),
      };
      return 'connection_config' in record
        ? { ...masked_record, connection_config: sealer.mask(record.connection_config) }
        : masked_record;
    },

    /**
     * Creates the valid items in one transaction; a dry run does the same and rolls back. Importing counts as saving: an item is
     * granted the importer's tokens that it names.
     */
    async import(parts: ImportParts, { importer, dry_run, faultOf }: { importer: Importer; dry_run: boolean; faultOf: FaultOf }) {
      const results: Partial<Record<PartName, ImportResult>> = {};
      const work = async (tx: Prisma.TransactionClient) => {
        const { follow, note, getSentItem: sentOf } = foreignIds();
        const makers = draftMakers(tx, { importer, keys, faultOf: (item) => faultOf(sentOf(item)) });
        for (const part of PARTS) {
          const items = follow<Item>(parts[part.name] ?? []);
          results[part.name] = await createAll(tx, part, { items, maker: makers[part.name], note: note(part.name, items) });
        }
        const ids = (name: PartName) => results[name]!.ids;
        await granting.grantCreated(tx, importer.key, { kind: 'knowledge_source', ids: ids('knowledge_sources') });
        await granting.grantCreated(tx, importer.key, { kind: 'workflow', ids: ids('workflows') });
        if (dry_run) throw new Undone();
      };
      await granting.ready();
      await prisma.$transaction(work, { timeout: TIMEOUT_MS, maxWait: TIMEOUT_MS }).catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error;
      });
      if (dry_run) for (const result of Object.values(results)) result.ids = [];
      return results as Record<PartName, ImportResult>;
    },
  };
}

interface Item {
  id?: string | undefined;
}

/** The part that each reference of an item points to. */
const LEADS_TO: Record<string, PartName> = {
  knowledge_source_ids: 'knowledge_sources',
  agent_id: 'agents',
  skill_ids: 'skills',
  guardrail_ids: 'guardrails',
  workflow_id: 'workflows',
};

/**
 * Translates foreign ids. An id that cannot be one of this service stands for an item of the same bundle, if exactly one item has
 * it: the item's record gets a new id, and the references of later items are changed to it. Other ids are not translated.
 */
function foreignIds() {
  const created_ids = new Map<string, string>();
  const sent_items = new WeakMap<object, object>();
  const place = (part: PartName, id: string) => `${part} ${id}`;
  const followId = (part: PartName, id: string) => (isUuid(id) ? id : (created_ids.get(place(part, id)) ?? id));
  const followIds = (part: PartName, value: unknown) =>
    Array.isArray(value) ? [...new Set(value.map((id: string) => followId(part, id)))] : followId(part, String(value));
  return {
    /** Returns the items with their references translated. */
    follow: <I extends Item>(items: readonly I[]): I[] =>
      items.map((item) => {
        const mapped_fields = Object.entries(LEADS_TO).flatMap(([field, part]) => {
          const value = (item as Record<string, unknown>)[field];
          return value === undefined ? [] : [[field, followIds(part, value)]];
        });
        const after = { ...item, ...Object.fromEntries(mapped_fields) };
        sent_items.set(after, item);
        return after;
      }),
    /** Records that the items' records were created. */
    note: (part: PartName, items: readonly Item[]) => {
      const items_by_id = Map.groupBy(items, ({ id = '' }) => id);
      return ({ id = '' }: Item, created: string): void => {
        if (!isUuid(id) && items_by_id.get(id)?.length === 1) created_ids.set(place(part, id), created);
      };
    },
    /** Returns the item as it was sent. */
    getSentItem: (item: object) => sent_items.get(item)!,
  };
}

interface Creating {
  items: Item[];
  maker: DraftMaker;
  note(item: Item, created: string): void;
}

async function createAll(tx: Tables, { name, noun, model }: Part, { items, maker, note }: Creating): Promise<ImportResult> {
  const result: ImportResult = { created: 0, errors: [], ids: [], warnings: [] };
  if (items.length === 0) return result;
  const table = tx[model] as unknown as Table;
  const taken_ids = await findTakenIds(table, items);
  const drafts = (await maker(items)).map((draft, index): Draft & { label: string; id: string } => {
    const requested_id = items[index]?.id;
    const id = requested_id && isUuid(requested_id) && !taken_ids.has(requested_id) ? requested_id : uuid();
    taken_ids.add(id);
    return { ...draft, id, label: `${name}.${index}${draft.title ? ` (${draft.title})` : ''}` };
  });
  const created = await insert(
    table,
    drafts.filter(({ values }) => values),
  );
  for (const [index, { id, label, values, error, warnings, dropped_references }] of drafts.entries()) {
    if (error) result.errors.push(`${label}: ${error}`);
    else if (values && !created.has(id)) result.errors.push(`${label}: There is already ${one(noun)} with this name`);
    else {
      result.ids.push(id);
      note(items[index] as Item, id);
      if (dropped_references.length > 0) result.errors.push(`${label}: ${DROPPED}: ${dropped_references.join('; ')}`);
    }
    const path = label.split(' ')[0] as string;
    result.warnings.push(...warnings.map((warning) => ({ path, message: `${label}: ${warning}` })));
  }
  result.created = result.ids.length;
  return result;
}

/** Inserts in batches and skips rows that already exist. Returns the new ids. */
async function insert(table: Table, drafts: { id: string; values: object | null }[]): Promise<Set<string>> {
  const created = new Set<string>();
  for (let at = 0; at < drafts.length; at += BATCH) {
    const data = drafts.slice(at, at + BATCH).map(({ id, values }) => ({ id, ...values }));
    for (const { id } of await table.createManyAndReturn({ data, skipDuplicates: true, select: { id: true } })) created.add(id);
  }
  return created;
}

async function findTakenIds(table: Table, items: { id?: string | undefined }[]): Promise<Set<string>> {
  const ids = items.flatMap(({ id }) => (id && isUuid(id) ? [id] : []));
  if (ids.length === 0) return new Set();
  return new Set((await table.findMany({ where: { id: { in: ids } }, select: { id: true } })).map(({ id }) => id));
}
