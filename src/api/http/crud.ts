import type { z } from 'zod';
import type { Warning } from '../../contracts/common.ts';
import type { crud } from '../../contracts/endpoint.ts';
import { AppError, conflict, type FieldError, notFound, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { RowPage } from '../../store/database/page.ts';
import type { Records } from '../../store/database/resource.ts';
import type { TokenChecks } from '../checks/needs.ts';
import { type Api, mount } from './mount.ts';
import { toReply } from './validate.ts';
import type { Warnings } from './warnings.ts';

/** The people who may change a record that everyone may read. */
export type SharedWrite = 'everyone' | 'owner';

interface Shared {
  id: string;
  created_by: string;
}

type CrudEndpoints<R extends z.ZodType, C extends z.ZodType, U extends z.ZodType, Q extends z.ZodType> = ReturnType<
  typeof crud<R, C, U, Q>
>;

/** A record to create: the values sent, the creator, and the id if one was reserved for the request. */
export type NewRecord<C> = C & { created_by: string; id?: string };

/** The record that a check may read, and the means to warn. */
interface Checking extends Pick<Warnings, 'warn'> {
  /** The id of the record to change; absent on create. */
  id?: string;
}

/** `T`: a stored record; `C`, `U` and `Q`: the create body, the update body and the list query. */
interface CrudRules<T, C, U, Q> {
  store: Records<T, NewRecord<C>, U>;
  /** The filter that limits a list to what the caller may see. */
  list: (query: Q, caller: Caller) => Promise<RowPage<T>>;
  shared_write: SharedWrite;
  /** Errors that types cannot express, such as references to missing records. */
  check?: (values: Partial<C>, caller: Caller, checking: Checking) => Promise<FieldError[]>;
  /** Warnings about a valid record that may not do what its author means. */
  listWarnings?: (record: C | T, caller: Caller) => Promise<Warning[]>;
  /** Lists what a reader should know before a run. These warnings are not faults of the request that saves the record. */
  listRunWarnings?: (record: T, caller: Caller) => Promise<Warning[]>;
  /** Checks of the stored tokens that a record names. */
  tokenChecks?: TokenChecks<Partial<T>>;
  /** Lists what refers to a record, such as `agent researcher`. A record in use cannot be deleted. */
  users?: (record: T, caller: Caller) => Promise<string[]>;
  /** Throws if the caller may not see the record. */
  maySee?: (record: T, caller: Caller) => Promise<void>;
  /** Throws if the caller may not create, change or delete the record. By default its creator and administrators may. */
  mayWrite?: (record: T | C, caller: Caller) => Promise<void>;
  /** Throws if anything else prevents deletion of the record. */
  mayRemove?: (record: T) => Promise<void>;
}

/** Finds a record by id, or throws 404. */
export const getExisting =
  <T>(store: Pick<Records<T>, 'find'>, noun: string) =>
  async (id: string): Promise<T> => {
    const record = await store.find(id);
    if (!record) throw notFound(noun, id);
    return record;
  };

/** Returns the record that an earlier attempt of this request created before its server died; otherwise creates one. */
export async function createOnce<T>(
  reserved_id: string | undefined,
  find: (id: string) => Promise<T | null>,
  make: () => Promise<T>,
): Promise<T> {
  const existing = reserved_id === undefined ? null : await find(reserved_id);
  return existing ?? make();
}

/** Mounts the five operations of a shared resource: everyone may read it; a setting decides who may write. */
export function mountCrud<
  T extends Shared & z.input<R>,
  R extends z.ZodType,
  C extends z.ZodType<object>,
  U extends z.ZodType<object>,
  Q extends z.ZodType,
>(api: Api, crud: CrudEndpoints<R, C, U, Q>, rules: CrudRules<T, z.output<C>, z.output<U>, z.output<Q>>): void {
  // The parameter types have already checked the records against the schemas.
  const endpoints: CrudEndpoints<z.ZodType, z.ZodType, z.ZodType, z.ZodType> = crud;
  const { store, shared_write, check = async () => [], users = async () => [], mayRemove = async () => {} } = rules;
  const {
    list,
    listWarnings = async () => [],
    listRunWarnings = async () => [],
    tokenChecks,
    maySee = async () => {},
    mayWrite,
  } = rules;
  const getVisible = async (id: string, caller: Caller): Promise<T> => {
    const record = await getExisting(store, endpoints.noun)(id);
    await maySee(record, caller);
    return record;
  };
  const getWritable = async (id: string, caller: Caller): Promise<T> => {
    const record = await getVisible(id, caller);
    if (mayWrite) await mayWrite(record, caller);
    else refuseForeign({ record, noun: endpoints.noun, shared_write }, caller);
    return record;
  };
  const listAllWarnings = async (record: z.output<C> | T, caller: Caller) => [
    ...(await listWarnings(record, caller)),
    ...((await tokenChecks?.listWarnings(record as Partial<T>, caller)) ?? []),
  ];
  const checkValues = async <V extends Partial<z.output<C>>>(values: V, caller: Caller, checking: Checking): Promise<V> => {
    const errors = await check(values, caller, checking);
    if (errors.length > 0) throw unprocessable(errors);
    const whole = { ...(checking.id ? await getVisible(checking.id, caller) : {}), ...values };
    await mayWrite?.(whole as z.output<C> | T, caller);
    checking.warn(...(await listAllWarnings(whole as z.output<C> | T, caller)));
    return values;
  };
  const maskRecord = async (record: T, caller: Caller): Promise<T> =>
    hideLastError(caller, tokenChecks ? ((await tokenChecks.addMissingTokens([record], caller))[0] as T) : record);
  const getId = ({ params }: { params: unknown }) => (params as { id: string }).id;
  const current = async (input: { params: unknown }, caller: Caller) =>
    toReply(endpoints.get.reply, hideLastError(caller, await getVisible(getId(input), caller)));

  mount(api, endpoints.list, async ({ query }, caller) => {
    const page = await list(query as z.output<Q>, caller);
    const items = tokenChecks ? await tokenChecks.addMissingTokens(page.items, caller) : page.items;
    return { ...page, items: items.map((record) => hideLastError(caller, record)) };
  });
  mount(api, endpoints.create, async ({ body, reserved_id: id, warn }, caller) => {
    const record = await createOnce(id, store.find, async () => {
      const values = await checkValues(body as z.output<C>, caller, { warn });
      return store.create({ ...values, created_by: caller.key, ...(id ? { id } : {}) }, caller.key);
    });
    return maskRecord(record, caller);
  });
  mount(api, endpoints.get, async (input, caller) => {
    const record = await getVisible(getId(input), caller);
    input.warn(...(await listWarnings(record, caller)), ...(await listRunWarnings(record, caller)));
    return maskRecord(record, caller);
  });
  mount(
    api,
    endpoints.update,
    async (input, caller) => {
      const { id } = await getWritable(getId(input), caller);
      const values = await checkValues(input.body as z.output<U>, caller, { id, warn: input.warn });
      return maskRecord(await store.update(id, values, caller.key), caller);
    },
    { current },
  );
  mount(
    api,
    endpoints.remove,
    async (input, caller) => {
      const record = await getWritable(getId(input), caller);
      await mayRemove(record);
      const used_by = await users(record, caller);
      if (used_by.length > 0)
        throw conflict(`This ${endpoints.noun} is used by ${used_by.join(', ')}; change them first`, 'in_use');
      await store.remove(record.id);
    },
    { current },
  );
}

/** Hides the result of the last connection attempt from everyone but the creator and administrators. */
export function hideLastError<T extends object>(caller: Caller, record: T): T {
  const { created_by, last_error } = record as { created_by?: string; last_error?: string | null };
  return last_error && created_by !== caller.key && !caller.is_admin ? { ...record, last_error: null } : record;
}

/** Throws 403 unless the caller may change a shared record. */
export function refuseForeign(
  { record, noun, shared_write }: { record: Shared; noun: string; shared_write: SharedWrite },
  caller: Caller,
): void {
  if (shared_write === 'everyone' || caller.is_admin || record.created_by === caller.key) return;
  throw new AppError('forbidden', `This ${noun} was created by someone else; ask them or an administrator to change it`);
}
