import type { z } from 'zod';
import type { crud } from '../contracts/endpoint.ts';
import { AppError, conflict, type FieldError, notFound, unprocessable } from '../domain/errors.ts';
import type { Resource } from '../store/resource.ts';
import type { Caller } from './auth.ts';
import { type Api, mount } from './mount.ts';

/** Who may change what everyone may read. */
export type SharedWrite = 'everyone' | 'owner';

interface Shared {
  id: string;
  created_by: string;
}

export type CrudEndpoints<R extends z.ZodType, C extends z.ZodType, U extends z.ZodType> = ReturnType<
  typeof crud<R, C, U, z.ZodType>
>;

export interface CrudRules {
  shared_write: SharedWrite;
  /** What is wrong with values beyond their types, such as references to what does not exist. */
  check?: (values: Record<string, unknown>, caller: Caller) => Promise<FieldError[]>;
  /** What refers to a record, such as `agent researcher`: while there is any, the record stays. */
  users?: (record: Shared) => Promise<string[]>;
  /** Refuses a removal for other reasons by throwing. */
  mayRemove?: (record: Shared) => Promise<void>;
}

/** Finds a record by its id, or answers 404. */
export const foundIn =
  <T>(store: Pick<Resource<T>, 'find'>, noun: string) =>
  async (id: string): Promise<T> => {
    const record = await store.find(id);
    if (!record) throw notFound(noun, id);
    return record;
  };

/** What the same request has made before, when its server was lost after that; otherwise it is made now. */
export async function madeOnce<T>(
  reserved_id: string | undefined,
  find: (id: string) => Promise<T | null>,
  make: () => Promise<T>,
): Promise<T> {
  const made = reserved_id === undefined ? null : await find(reserved_id);
  return made ?? make();
}

/** Mounts the five operations of a resource that the installation shares: everyone reads; who may write is a setting. */
export function mountCrud<T extends Shared>(
  api: Api,
  endpoints: CrudEndpoints<z.ZodType, z.ZodType, z.ZodType>,
  rules: CrudRules & { store: Resource<T> },
): void {
  const { store, shared_write, check = async () => [], users = async () => [], mayRemove = async () => {} } = rules;
  const found = foundIn(store, endpoints.noun);
  const writable = async (id: string, caller: Caller): Promise<T> => {
    const record = await found(id);
    refuseForeign({ record, noun: endpoints.noun, shared_write }, caller);
    return record;
  };
  const checked = async (values: unknown, caller: Caller): Promise<Record<string, unknown>> => {
    const errors = await check(values as Record<string, unknown>, caller);
    if (errors.length > 0) throw unprocessable(errors);
    return values as Record<string, unknown>;
  };
  const idOf = ({ params }: { params: unknown }) => (params as { id: string }).id;
  const current = async (input: { params: unknown }) => endpoints.get.reply?.parse(await found(idOf(input)));

  mount(api, endpoints.list, ({ query }) => store.list(query as never));
  mount(api, endpoints.create, ({ body, reserved_id: id }, caller) =>
    madeOnce(id, store.find, async () =>
      store.create({ ...(await checked(body, caller)), created_by: caller.key, ...(id ? { id } : {}) }),
    ),
  );
  mount(api, endpoints.get, (input) => found(idOf(input)));
  mount(
    api,
    endpoints.update,
    async (input, caller) => {
      const { id } = await writable(idOf(input), caller);
      return store.update(id, await checked(input.body, caller));
    },
    { current },
  );
  mount(
    api,
    endpoints.remove,
    async (input, caller) => {
      const record = await writable(idOf(input), caller);
      await mayRemove(record);
      const used_by = await users(record);
      if (used_by.length > 0)
        throw conflict(`This ${endpoints.noun} is used by ${used_by.join(', ')}; change them first`, 'in_use');
      await store.remove(record.id);
    },
    { current },
  );
}

/** 403 unless the caller may change a shared record. */
export function refuseForeign(
  { record, noun, shared_write }: { record: Shared; noun: string; shared_write: SharedWrite },
  caller: Caller,
): void {
  if (shared_write === 'everyone' || caller.is_admin || record.created_by === caller.key) return;
  throw new AppError('forbidden', `This ${noun} was created by someone else; ask them or an administrator to change it`);
}
