import { type StoredToken, tokens } from '../../contracts/tokens.ts';
import { conflict, foreign, notFound } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { createOnce } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';

/** Mounts stored tokens, which belong to their owner. An administrator may only list and delete them. */
export function tokenRoutes(api: Api, { store }: { store: Pick<Store, 'tokens' | 'grants'> }): void {
  const { tokens: token_store } = store;
  const one = async (id: string, viewer: string, mine: (created_by: string) => boolean) => {
    const token = await token_store.find(id, viewer);
    if (!token) throw notFound(tokens.noun, id);
    if (!mine(token.created_by)) throw foreign(tokens.noun);
    return token;
  };
  const own = (id: string, { key }: Caller) => one(id, key, (created_by) => created_by === key);
  const ownOrAdmin = (id: string, { key, is_admin }: Caller) => one(id, key, (created_by) => is_admin || created_by === key);
  const current = async ({ params }: { params: unknown }, caller: Caller) =>
    toReply(tokens.get.reply, maskForeignToken(caller.key, await ownOrAdmin((params as { id: string }).id, caller)));

  mount(api, tokens.list, async ({ query }, { key, is_admin }) => {
    const page = await token_store.list(query, key, { all: is_admin });
    return { ...page, items: page.items.map((token) => maskForeignToken(key, token)) };
  });
  mount(api, tokens.create, ({ body, reserved_id: id }, { key }) =>
    createOnce(id, token_store.find, () => token_store.create({ ...body, ...(id ? { id } : {}) }, key)),
  );
  mount(api, tokens.get, async ({ params: { id } }, caller) => maskForeignToken(caller.key, await ownOrAdmin(id, caller)));
  mount(
    api,
    tokens.update,
    async ({ params: { id }, body }, caller) => token_store.update(id, (await own(id, caller)).name, body),
    {
      current,
    },
  );
  mount(
    api,
    tokens.remove,
    async ({ params: { id } }, caller) => {
      const { name } = await ownOrAdmin(id, caller);
      const used_by = await token_store.listHolders(name, caller.key);
      if (used_by.length > 0) throw conflict(`This ${tokens.noun} is used by ${used_by.join(', ')}; change them first`, 'in_use');
      await token_store.remove(id);
    },
    { current },
  );
  grantRoutes(api, store, own);
}

/** Masks a token for an administrator, who sees only what deleting it requires: its name and owner. */
const maskForeignToken = <T extends Pick<StoredToken, 'created_by' | 'description' | 'fingerprint' | 'used_by'>>(
  key: string,
  token: T,
): T => (token.created_by === key ? token : { ...token, description: '', fingerprint: '', used_by: [] });

type Owned = (id: string, caller: Caller) => Promise<{ name: string; created_by: string; created_at: string }>;

function grantRoutes(api: Api, { tokens: token_store, grants }: Pick<Store, 'tokens' | 'grants'>, own: Owned): void {
  mount(api, tokens.uses, async ({ params: { id }, query }, caller) => await token_store.uses(await own(id, caller), query));
  mount(api, tokens.grants, async ({ params: { id } }, caller) => grants.ofToken(await own(id, caller)));
  mount(api, tokens.grant, async ({ params: { id }, body: { resource_type: kind, resource_id, destination } }, caller) =>
    grants.give(await own(id, caller), { kind, id: resource_id, destination }),
  );
  mount(api, tokens.revoke, async ({ params: { id, grant_id } }, caller) => {
    const revoked = await grants.revoke(await own(id as string, caller), grant_id as string);
    if (!revoked) throw notFound('grant of this token', grant_id as string);
  });
}
