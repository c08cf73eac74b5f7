import type { BUDGET_SCOPES } from '../../contracts/budgets.ts';
import { Id } from '../../contracts/common.ts';
import { AppError, foreign, notFound, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { StoredBudget } from '../../store/resources/budgets.ts';

type Scope = (typeof BUDGET_SCOPES)[number];

/** What a budget limits: its id, and the person it belongs to; null: nobody alone. */
interface Subject {
  subject_id: string | null;
  owner: string | null;
}

const NOUNS = {
  service_key: 'service key',
  agent: 'agent',
  workflow: 'workflow',
  schedule: 'schedule',
  person: 'person',
} as const;

/** Finds what a new budget limits. Throws 422 if there is no such subject, 403 if the caller may not limit it. */
export async function findSubject(
  store: Store,
  { scope, subject_id }: { scope: Scope; subject_id: string | null },
  caller: Caller,
): Promise<Subject> {
  if (scope === 'installation') {
    if (subject_id !== null) throw wrong('A budget of the installation has no subject_id; leave it out');
    refuseOthers('installation', caller);
    return { subject_id: null, owner: null };
  }
  const id = subject_id ?? (scope === 'person' ? caller.key : null);
  if (id === null) throw wrong(`Name the id of the ${NOUNS[scope]} that it limits`);
  const owner = await findOwner(store, scope, id);
  if (owner === undefined) throw wrong(`No ${NOUNS[scope]} with id ${id}`);
  if (owner !== caller.key) refuseOthers(scope, caller);
  return { subject_id: id, owner };
}

const wrong = (message: string) => unprocessable([{ path: 'subject_id', message }]);

function refuseOthers(scope: Scope, caller: Caller): void {
  if (caller.is_admin) return;
  if (scope === 'workflow' || scope === 'schedule' || scope === 'service_key') throw foreign(NOUNS[scope]);
  const subject = { installation: 'the installation', agent: 'an agent, which many people use', person: 'someone else' }[scope];
  throw new AppError('forbidden', `Only administrators may limit ${subject}`, { code: 'administrators_only' });
}

/** Returns the owner of a subject; null: it is shared; undefined: it does not exist. */
async function findOwner(store: Store, scope: Exclude<Scope, 'installation'>, id: string): Promise<string | null | undefined> {
  if (scope === 'person') return (await store.principals.find(id)) ? id : undefined;
  if (!Id.safeParse(id).success) return undefined;
  switch (scope) {
    case 'agent':
      return (await store.agents.find(id)) ? null : undefined;
    case 'workflow':
      return (await store.workflows.find(id))?.owner_key;
    case 'schedule':
      return (await store.scheduledAgents.find(id))?.owner;
    case 'service_key':
      return (await store.serviceKeys.find(id))?.owner;
  }
}

/** Finds a budget that concerns the caller: 404 if there is none, 403 if it is about someone else. */
export const getConcerning = (store: Pick<Store, 'budgets'>) => async (id: string, caller: Caller) => {
  const budget = await store.budgets.find(id);
  if (!budget) throw notFound('budget', id);
  if (budget.owner !== null && budget.owner !== caller.key && !caller.is_admin) throw foreign('budget');
  return budget;
};

/** Throws if the caller may not change or delete the budget: what an administrator has limited, nobody else raises. */
export function refuseToChange({ owner, created_by }: StoredBudget, caller: Caller): void {
  refuseServiceKey(caller);
  if (caller.is_admin || (owner === caller.key && created_by === caller.key)) return;
  throw new AppError('forbidden', 'An administrator has made this budget; only administrators may change it', {
    code: 'administrators_only',
  });
}

/** Throws for service keys: a program must not raise what limits it. */
export function refuseServiceKey({ service_key }: Caller): void {
  if (!service_key) return;
  throw new AppError('forbidden', 'A service key may read budgets, but not change them; sign in yourself', {
    code: 'budget_not_for_keys',
  });
}
