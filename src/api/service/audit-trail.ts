import type { FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuid } from 'uuid';
import { isStorable } from '../../contracts/common.ts';
import type { Endpoint } from '../../contracts/endpoint.ts';
import type { AuditStore, NewAuditEntry } from '../../store/people/audit.ts';

export interface AuditTrail {
  /** Records a request that is about to be answered. Never throws, and waits for the database only briefly. */
  record(endpoint: Endpoint, request: FastifyRequest, answer: { status: number; made_id: string | null }): Promise<void>;
  /** Records that a person signs in or out with a browser. Never throws, and waits for the database only briefly. */
  recordSignIn(request: FastifyRequest, person: { key: string; login: string }, operation: 'sign_in' | 'sign_out'): Promise<void>;
}

interface TrailOptions {
  store: Pick<AuditStore, 'add'>;
  /** Receives each entry as a line of JSON; null: the operator has not enabled it. */
  stream: { write(line: string): void } | null;
  /** Receives entries that could not be written in time. */
  log(message: string): void;
  patience_ms?: number;
}

/** How long a reply waits for its entry. */
const PATIENCE_MS = 2_000;
const MOST_WAITING = 1_000;
const PATH_CHARACTERS = 500;
/** The statuses of requests that were refused before they did anything, of which there may be many. */
const SKIPPED = [429, 503];

export function auditTrail({ store, stream, log, patience_ms = PATIENCE_MS }: TrailOptions): AuditTrail {
  const add = batchEntries(store.add);
  const write = async (entry: NewAuditEntry): Promise<void> => {
    stream?.write(`${JSON.stringify({ level: 'info', time: new Date().toISOString(), msg: 'audit', audit: entry })}\n`);
    const { promise: was_added, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, patience_ms, false);
    add(entry).then(
      () => resolve(true),
      () => resolve(false),
    );
    if (!(await was_added)) log(`This entry of the audit is not in the database yet: ${JSON.stringify(entry)}`);
    clearTimeout(timer);
  };
  return {
    async record(endpoint, request, answer) {
      if (isAudited(endpoint, request) && !SKIPPED.includes(answer.status)) await write(toEntry(endpoint, request, answer));
    },
    recordSignIn: (request, { key: principal, login }, operation) =>
      write({
        principal,
        login,
        service_key_id: null,
        operation,
        scope: 'read',
        resource_type: 'sessions',
        resource_id: null,
        made_id: null,
        status: operation === 'sign_in' ? 302 : 204,
        ...describeRequest(request),
      }),
  };
}

/** Describes the request and its origin. */
const describeRequest = ({ url, id: request_id, ip: address }: FastifyRequest) => ({
  id: uuid(),
  path: (url.split('?')[0] as string).slice(0, PATH_CHARACTERS),
  request_id,
  address,
});

function isAudited({ access, audited }: Endpoint, { caller, body }: FastifyRequest): boolean {
  if (access === null || !caller) return false;
  return typeof audited === 'function' ? audited(body) : audited;
}

function toEntry(
  { operation, access, path }: Endpoint,
  request: FastifyRequest,
  answer: Pick<NewAuditEntry, 'status' | 'made_id'>,
): NewAuditEntry {
  const { caller, params } = request;
  const [, door = '', collection = ''] = path.split('/');
  const [path_id = ''] = Object.values(params as Record<string, string>);
  return {
    principal: caller.key,
    login: caller.login,
    service_key_id: caller.service_key?.id ?? null,
    operation,
    scope: access as NewAuditEntry['scope'],
    resource_type: collection || door,
    resource_id: path_id && isStorable(path_id) ? path_id : null,
    ...answer,
    ...describeRequest(request),
  };
}

/** Collects entries while a statement is in progress, and adds them with the next one. */
function batchEntries(add: (entries: readonly NewAuditEntry[]) => Promise<void>): (entry: NewAuditEntry) => Promise<void> {
  let next: { entries: NewAuditEntry[]; done: Promise<void> } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  return (entry) => {
    if (next && next.entries.length >= MOST_WAITING) return Promise.reject(new Error('too many entries wait'));
    if (!next) {
      const entries: NewAuditEntry[] = [];
      const done = last.then(() => {
        next = null;
        return add(entries);
      });
      next = { entries, done };
      last = done.catch(() => {});
    }
    next.entries.push(entry);
    return next.done;
  };
}

/** The ids of replies under /v1 have a prefix. */
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Finds the id of the record that a reply reports as created or started. */
function findMadeId(record: unknown): string | null {
  const { task_id, id } = Object(record) as { task_id?: unknown; id?: unknown };
  const record_id = task_id ?? id;
  return typeof record_id === 'string' ? (UUID.exec(record_id)?.[0] ?? record_id) : null;
}

/** The ids of records that requests have created, until their replies are sent. */
const created_ids = new WeakMap<FastifyReply, string>();
export const noteMade = (reply: FastifyReply, record: unknown): void => {
  const id = findMadeId(record);
  if (id) created_ids.set(reply, id);
};
export const getMadeId = (reply: FastifyReply): string | null => created_ids.get(reply) ?? null;
