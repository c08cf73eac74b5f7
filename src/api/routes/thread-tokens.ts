import { MOST_THREAD_TOKENS, threadTokens } from '../../contracts/thread-tokens.ts';
import type { Scope } from '../../domain/access.ts';
import { conflict } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import { getOwnThread } from '../checks/owned.ts';
import { type Api, mount } from '../http/mount.ts';

/** What a page needs for its thread. */
const SCOPES: readonly Scope[] = ['read', 'run', 'write'];

export function threadTokenRoutes(api: Api, { store }: { store: Pick<Store, 'threads' | 'threadTokens'> }): void {
  const getOwn = getOwnThread(store);
  mount(api, threadTokens.create, async ({ params: { id: thread_id }, body: { ttl_seconds, origins } }, caller) => {
    await getOwn(thread_id, caller);
    if ((await store.threadTokens.countValid(thread_id)) >= MOST_THREAD_TOKENS)
      throw conflict(
        `This thread has ${MOST_THREAD_TOKENS} valid tokens, the most that one may have; give them a shorter life, or revoke them`,
        'thread_tokens_limit',
      );
    const asked_end = Date.now() + ttl_seconds * 1_000;
    const expires_at = new Date(Math.min(asked_end, caller.service_key?.expires_at?.getTime() ?? asked_end));
    const scopes = SCOPES.filter((scope) => caller.scopes.includes(scope));
    const values = { thread_id, origins, expires_at, scopes, service_key_id: caller.service_key?.id ?? null };
    const token = await store.threadTokens.create(values);
    return { thread_id, token, origins, expires_at: expires_at.toISOString() };
  });
  mount(api, threadTokens.revoke, async ({ params: { id } }, caller) => {
    await getOwn(id, caller);
    await store.threadTokens.revoke(id);
  });
}
