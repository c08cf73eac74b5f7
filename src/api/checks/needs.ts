import type { Warning } from '../../contracts/common.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';

/** Reports the stored tokens that a record names and its reader cannot use. */
export interface TokenNeeds<N extends object> {
  /** Resources may be created in any order, so naming a missing token only warns; a run that needs it fails. */
  doubts(record: N, caller: Caller): Promise<Warning[]>;
  /** The records, with `needs` if a token is missing. */
  shown<T extends N>(records: T[], caller: Caller): Promise<T[]>;
}

interface Named {
  path: string;
  token: string | null | undefined;
}

/** The caller cannot tell apart another user's token and one that does not exist. */
export function tokenNeeds<N extends object>(store: Pick<Store, 'tokens'>, namesOf: (record: N) => Named[]): TokenNeeds<N> {
  const named = (record: N) => namesOf(record).filter((one): one is { path: string; token: string } => Boolean(one.token));
  const missing = async (records: N[], known: () => Promise<string[]>) => {
    const asked = records.map(named);
    const held = asked.some(({ length }) => length > 0) ? new Set(await known()) : new Set<string>();
    return asked.map((names) => names.filter(({ token }) => !held.has(token)));
  };
  return {
    async doubts(record, caller) {
      const [found = []] = await missing([record], () => store.tokens.namesOf(caller.key));
      return found.map(({ path, token }) => ({ path, message: missingToken(token) }));
    },
    async shown(records, caller) {
      const found = await missing(records, () => store.tokens.usableBy(caller.key));
      return records.map((record, index) => {
        const needs = [...new Set(found[index]?.map(({ token }) => token))];
        return needs.length > 0 ? { ...record, needs } : record;
      });
    },
  };
}

export const missingToken = (name: string) =>
  `You have no stored token named ${name}: it is used once you store one, or its owner grants theirs`;
