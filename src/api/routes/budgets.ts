import { budgets, MOST_BUDGETS } from '../../contracts/budgets.ts';
import { conflict, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { StoredBudget } from '../../store/resources/budgets.ts';
import { findSubject, getConcerning, refuseServiceKey, refuseToChange } from '../checks/budget-rights.ts';
import type { LimitChecks } from '../checks/priced-limits.ts';
import { createOnce } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';

interface Services {
  store: Store;
  dollar_limits: LimitChecks;
  /** Lets the runs try again for which there is room now. */
  wakeWaiting(): Promise<void>;
}

export function budgetRoutes(api: Api, { store, dollar_limits, wakeWaiting }: Services): void {
  const get = getConcerning(store);
  const current = async ({ params }: { params: unknown }, caller: Caller) =>
    toReply(budgets.get.reply, await get((params as { id: string }).id, caller));

  mount(api, budgets.list, ({ query }, { key, is_admin }) => store.budgets.list({ ...query, reader: is_admin ? null : key }));
  mount(api, budgets.get, async ({ params: { id }, warn }, caller) => {
    const budget = await get(id, caller);
    warn(...(await dollar_limits.budgets.checkBudget(budget, caller, { refuses: false })));
    return budget;
  });
  mount(api, budgets.create, ({ body, reserved_id: id, warn }, caller) =>
    createOnce<StoredBudget>(id, store.budgets.find, async () => {
      refuseServiceKey(caller);
      refuseLimits(body);
      if (!(await store.budgets.knowsTimeZone(body.time_zone)))
        throw unprocessable([{ path: 'time_zone', message: `No time zone ${body.time_zone}; name one such as Europe/Berlin` }]);
      const subject = await findSubject(store, body, caller);
      if ((await store.budgets.countMade(caller.key)) >= MOST_BUDGETS)
        throw conflict(
          `You have made ${MOST_BUDGETS} budgets, the most that one person may make; delete one first`,
          'budgets_limit',
        );
      warn(...(await dollar_limits.budgets.checkBudget({ ...body, ...subject }, caller, { refuses: true })));
      return store.budgets.create({ ...body, ...subject, id, created_by: caller.key });
    }),
  );
  mount(
    api,
    budgets.update,
    async ({ params: { id }, body, warn }, caller) => {
      const before = await get(id, caller);
      refuseToChange(before, caller);
      refuseLimits({ ...before, ...body });
      refuseOtherUnit(before, body);
      // A budget that could not count its models before is only warned about, so that its other fields can be changed.
      const refuses = body.limit_usd !== undefined && body.limit_usd !== before.limit_usd;
      warn(...(await dollar_limits.budgets.checkBudget({ ...before, ...body }, caller, { refuses })));
      const after = await store.budgets.update(id, body);
      await wakeWaiting();
      return after;
    },
    { current },
  );
  mount(
    api,
    budgets.remove,
    async ({ params: { id } }, caller) => {
      refuseToChange(await get(id, caller), caller);
      await store.budgets.remove(id);
      await wakeWaiting();
    },
    { current },
  );
}

interface Limits {
  limit_usd?: number | null | undefined;
  limit_tokens?: number | null | undefined;
}

function refuseLimits({ limit_usd = null, limit_tokens = null }: Limits): void {
  if ((limit_usd === null) !== (limit_tokens === null)) return;
  throw unprocessable([{ path: 'limit_usd', message: 'Set exactly one of `limit_usd` and `limit_tokens`' }]);
}

/** Throws if the unit would change: what calls in progress have reserved is counted in it. */
function refuseOtherUnit(before: StoredBudget, { limit_usd, limit_tokens }: Limits): void {
  const is_other =
    before.limit_usd === null ? limit_tokens === null || limit_usd != null : limit_usd === null || limit_tokens != null;
  if (!is_other) return;
  throw unprocessable([{ path: 'limit_usd', message: 'The unit of a budget stays; make another budget for that' }]);
}
