import type { Warning } from '../../contracts/common.ts';
import {
  type KnowledgeItem,
  type KnowledgeSource,
  type KnowledgeSourceValues,
  KnowledgeUpload,
  knowledgeItems,
  knowledgeSources,
  SOURCE_CONFIGS,
} from '../../contracts/knowledge.ts';
import { MASK } from '../../contracts/mcps.ts';
import { type FieldError, isSecretNotGranted, unprocessable } from '../../domain/errors.ts';
import { textWithReason } from '../../domain/reason.ts';
import { remoteAddressRefusal } from '../../domain/remote-address.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Records } from '../../store/database/resource.ts';
import type { Store } from '../../store/index.ts';
import type { ItemValues } from '../../store/resources/knowledge.ts';
import { createTokenChecks } from '../checks/needs.ts';
import { listReferenceErrors } from '../checks/references.ts';
import { toClearedWarnings } from '../checks/secrets.ts';
import { getExisting, mountCrud, type NewRecord, refuseForeign, type SharedWrite } from '../http/crud.ts';
import { listUnreadWarnings } from '../http/fields.ts';
import { type Api, mount } from '../http/mount.ts';
import { parseValue } from '../http/validate.ts';
import type { KnowledgeService } from '../ports.ts';
import { listConnectionTokens } from './mcps.ts';

/** The services that the routes need: the index, text extraction from files, and a connection test of external sources. */
interface Services {
  store: Store;
  knowledge: KnowledgeService;
}

export function knowledgeRoutes(api: Api, services: Services, shared_write: SharedWrite): void {
  sourceRoutes(api, services, shared_write);
  itemRoutes(api, services, shared_write);
}

function sourceRoutes(api: Api, { store, knowledge }: Services, shared_write: SharedWrite): void {
  const getSource = getExisting(store.knowledgeSources, knowledgeSources.noun);
  const resource: Records<KnowledgeSource, NewRecord<KnowledgeSourceValues>, Partial<KnowledgeSourceValues>> = {
    ...store.knowledgeSources,
    create: (values, by) => store.knowledgeSources.create(withAddress(values), by),
    async update(id, values, by) {
      if (!('connection_config' in values || 'source_type' in values)) return store.knowledgeSources.update(id, values, by);
      const { source_type, connection_config } = await getSource(id);
      withAddress({ source_type, connection_config, ...values });
      return store.knowledgeSources.update(id, values, by);
    },
  };
  mountCrud(api, knowledgeSources, {
    store: resource,
    list: (query) => store.knowledgeSources.list(query),
    shared_write,
    async check(values, caller, { id, warn }) {
      if (id) warn(...toClearedWarnings(await store.knowledgeSources.clears(id, values, caller.key)));
      return [];
    },
    listWarnings: async (source) => listConnectionWarnings(source),
    tokenChecks: createTokenChecks(store, listConnectionTokens),
    users: ({ id }, { key }) => store.usersOf('knowledgeSource', id, key),
  });
  mount(api, knowledgeSources.test, async ({ params: { id } }, caller) => {
    const source = await getSource(id);
    const answer = { success: true, items: null, embeddings: knowledge.embeds, error: null };
    // Other callers cannot open its secrets; that failure reveals nothing about the source.
    const own = source.created_by === caller.key;
    if (source.source_type === 'builtin') return { ...answer, items: await store.knowledgeItems.count(id) };
    try {
      await knowledge.probe(source, caller);
      if (own) await store.knowledgeSources.setStatus(id, 'connected', null);
      return answer;
    } catch (error) {
      if (isSecretNotGranted(error)) throw error;
      const message = textWithReason(error as Error);
      if (own) await store.knowledgeSources.setStatus(id, 'error', message);
      return { ...answer, success: false, error: message };
    }
  });
}

/** Throws 422 if the URL of an external source has parts that would lead to another host. */
function withAddress<S extends Connected>(source: S): S {
  const message = remoteAddressRefusal(source.source_type, source.connection_config.url, MASK);
  if (message !== null) throw unprocessable([{ path: 'connection_config.url', message }]);
  return source;
}

/** Warns about connection fields that this type of source ignores, and about missing ones that a search needs. */
export function listConnectionWarnings({ source_type, connection_config }: Connected): Warning[] {
  const field = 'connection_config';
  const schema = SOURCE_CONFIGS[source_type];
  const lacking = schema.safeParse(connection_config).error?.issues ?? [];
  return [
    ...listUnreadWarnings(schema, connection_config, field),
    ...lacking.map(({ path, message }) => ({ path: [field, ...path].join('.'), message: `${message}, or searches fail` })),
  ];
}
type Connected = Pick<KnowledgeSource, 'source_type' | 'connection_config'>;

function itemRoutes(api: Api, { store, knowledge }: Services, shared_write: SharedWrite): void {
  const getItem = getExisting(store.knowledgeItems, knowledgeItems.noun);
  const getContent = getExisting({ find: store.knowledgeItems.content }, knowledgeItems.noun);
  const getSource = getExisting(store.knowledgeSources, knowledgeSources.noun);
  const check = (values: { source_id?: string }) => listSourceErrors(store, values);
  const create = async ({ id, ...values }: ItemValues & { id?: string }) =>
    store.knowledgeItems.write(values, await knowledge.index(values.content), id);
  const resource: Records<KnowledgeItem, ItemValues & { id?: string }, Partial<ItemValues>> = {
    find: store.knowledgeItems.find,
    create,
    async update(id, values) {
      const before = await getItem(id);
      // Any change retries an item that could not be embedded.
      if (!('content' in values) && before.status === 'indexed') return store.knowledgeItems.describe(id, values);
      const item = { ...(await getContent(id)), ...before, ...values };
      return store.knowledgeItems.write(item, await knowledge.index(item.content), id);
    },
    remove: store.knowledgeItems.remove,
  };
  /** Throws unless the caller may write to the source: its content reaches the models of everyone who uses it. */
  const mayWrite = async ({ source_id }: { source_id: string }, caller: Caller) => {
    refuseForeign({ record: await getSource(source_id), noun: knowledgeSources.noun, shared_write }, caller);
  };
  const list = (query: Parameters<typeof store.knowledgeItems.list>[0]) => store.knowledgeItems.list(query);
  mountCrud(api, knowledgeItems, { store: resource, list, shared_write, check, mayWrite });

  mount(api, knowledgeItems.upload, async ({ file, query }, caller) => {
    const { source_id, tags, name = file.filename } = parseValue(KnowledgeUpload, { ...file.fields, ...query }, 'form');
    const errors = await check({ source_id });
    if (errors.length > 0) throw unprocessable(errors);
    await mayWrite({ source_id }, caller);
    const { text: content, content_type } = await knowledge.extract({ ...file, owner: caller.key });
    const facts = { source_id, name, description: '', tags, metadata: { filename: file.filename, bytes: file.content.length } };
    return create({ ...facts, content, content_type, created_by: caller.key });
  });
  mount(api, knowledgeItems.content, ({ params: { id } }) => getContent(id));
  mount(api, knowledgeItems.query, async ({ body }, caller) => {
    const errors = await listReferenceErrors(store, body, { source_ids: 'knowledgeSource' });
    if (errors.length > 0) throw unprocessable(errors);
    const { items, warnings } = await knowledge.search({ ...body, principal: caller.key });
    return { items, warnings: warnings.map((message) => ({ path: 'query', message })) };
  });
}

/** Returns an error unless the item's source exists and is of type builtin. */
async function listSourceErrors(store: Store, { source_id }: { source_id?: string }): Promise<FieldError[]> {
  if (source_id === undefined) return [];
  const source = await store.knowledgeSources.find(source_id);
  if (!source) return [{ path: 'source_id', message: `No knowledge source with id ${source_id}` }];
  if (source.source_type === 'builtin') return [];
  return [{ path: 'source_id', message: `The source ${source.name} is in another database; only builtin sources accept items` }];
}
