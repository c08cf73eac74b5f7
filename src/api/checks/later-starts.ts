import type { Warning } from '../../contracts/common.ts';
import { isBrowserSession, isServiceKey, principalKey } from '../../domain/access.ts';
import type { IdentityCheck } from '../../identity/cached-identity.ts';
import type { Caller } from '../../identity/caller.ts';

/** The credentials of the request that saved something that runs later, stored with it. */
interface RunCredentials {
  /** Kept only if the runs call the default runtime. */
  access_token: string | null;
  /** The key whose end also ends the runs; null: the owner saved it in person. */
  service_key_id: string | null;
}

interface Saving {
  /** The saved thing, such as `schedule`. */
  noun: string;
  /** The field that the warnings name. */
  path: string;
  /** True if the runs call the default runtime. */
  uses_token: boolean;
  /** The access token that has been stored with it until now. */
  kept_before?: string | null;
}

/** Chooses the credentials to store, and warns about everything that will end runs which start later. */
export async function chooseRunCredentials(
  identify: IdentityCheck,
  caller: Caller,
  saving: Saving,
): Promise<RunCredentials & { warnings: Warning[] }> {
  const { noun, path, uses_token } = saving;
  const { service_key } = caller;
  const service_key_id = service_key?.id ?? null;
  const warnings: Warning[] = [];
  if (service_key?.expires_at) {
    const until = service_key.expires_at.toISOString();
    warnings.push({ path, message: `This ${noun} ends with the service key that saved it: it starts runs until ${until}` });
  }
  if (!uses_token) return { access_token: null, service_key_id, warnings };
  const { access_token, valid_until } = await findPersonalToken(identify, caller, saving.kept_before ?? null);
  warnings.push({ path, message: `${USES_TOKEN} ${describeKeptToken({ noun, access_token, valid_until, caller })}` });
  return { access_token, service_key_id, warnings };
}

const USES_TOKEN = "The agent uses the default runtime, which is called with its owner's access token.";

interface Token {
  access_token: string | null;
  /** Milliseconds since 1970; undefined: unknown. */
  valid_until?: number | undefined;
}

/**
 * Returns the token of the request. If a browser sent it, returns the token stored before: model endpoints do not accept a
 * browser session.
 */
async function findPersonalToken(identify: IdentityCheck, caller: Caller, before: string | null): Promise<Token> {
  const { service_key, browser_session, access_token, valid_until } = caller;
  if (service_key) return { access_token: null };
  if (!browser_session) return { access_token, valid_until };
  if (before === null || isServiceKey(before) || isBrowserSession(before)) return { access_token: null };
  const identity = await identify(before);
  return identity && principalKey(identity) === caller.key
    ? { access_token: before, valid_until: identity.valid_until }
    : { access_token: null };
}

function describeKeptToken({ noun, access_token, valid_until, caller }: Token & { noun: string; caller: Caller }): string {
  const whose = caller.browser_session ? 'The token that was kept before' : 'Yours';
  if (access_token === null) {
    const sender = caller.service_key ? 'a service key' : 'the sign-in of a browser';
    return `It is never called with ${sender}, so runs of this ${noun} will fail: save it with an access token, or give the agent a provider`;
  }
  if (valid_until === undefined)
    return `${whose} is kept with the ${noun}, which starts runs until the token is revoked; to depend on no token, give the agent a provider`;
  const until = new Date(valid_until).toISOString();
  return `${whose} is kept with the ${noun} and expires at ${until}, after which runs fail: save it again before, or give the agent a provider`;
}
