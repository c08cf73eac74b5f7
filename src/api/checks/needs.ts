import type { Warning } from '../../contracts/common.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';

/** Reports the stored tokens that a record names and its reader cannot use. */
export interface TokenChecks<N extends object> {
  /** Resources may be created in any order, so naming a missing token only warns; a run that needs it fails. */
  listWarnings(record: N, caller: Caller): Promise<Warning[]>;
  /** Returns the records, each with `needs` if a token is missing. */
  addMissingTokens<T extends N>(records: T[], caller: Caller): Promise<T[]>;
}

interface NamedToken {
  path: string;
  token: string | null | undefined;
}

/** Creates the checks of stored tokens. The caller cannot distinguish another user's token from one that does not exist. */
export function createTokenChecks<N extends object>(
  store: Pick<Store, 'tokens'>,
  listReferences: (record: N) => NamedToken[],
): TokenChecks<N> {
  const listNamedTokens = (record: N) =>
    listReferences(record).filter((one): one is { path: string; token: string } => Boolean(one.token));
  const findMissingTokens = async (records: N[], listNames: () => Promise<string[]>) => {
    const token_lists = records.map(listNamedTokens);
    const available_names = token_lists.some(({ length }) => length > 0) ? new Set(await listNames()) : new Set<string>();
    return token_lists.map((names) => names.filter(({ token }) => !available_names.has(token)));
  };
  return {
    async listWarnings(record, caller) {
      const [missing_tokens = []] = await findMissingTokens([record], () => store.tokens.listNames(caller.key));
      return missing_tokens.map(({ path, token }) => ({ path, message: describeMissingToken(token) }));
    },
    async addMissingTokens(records, caller) {
      const missing_by_record = await findMissingTokens(records, () => store.tokens.listUsableNames(caller.key));
      return records.map((record, index) => {
        const needs = [...new Set(missing_by_record[index]?.map(({ token }) => token))];
        return needs.length > 0 ? { ...record, needs } : record;
      });
    },
  };
}

export const describeMissingToken = (name: string) =>
  `You have no stored token named ${name}: it is used once you store one, or its owner grants theirs`;
