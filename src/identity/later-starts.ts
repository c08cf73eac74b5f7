import { isBrowserSession, isServiceKey, principalKey } from '../domain/access.ts';
import type { KnownPrincipal } from '../store/people/principals.ts';
import type { KnownKey } from '../store/people/service-keys.ts';
import type { IdentityCheck } from './cached-identity.ts';
import type { AuthorityOf } from './roles.ts';

/** The identity behind something that was saved to run later, such as a schedule or an evaluation. */
interface LeftToRun {
  owner: string;
  /** The service key that it was saved with, whose rights limit its runs. */
  service_key_id: string | null;
  /** The access token kept for the default runtime. */
  access_token: string | null;
}

interface LaterStartPorts {
  principal(owner: string): Promise<KnownPrincipal | null>;
  /** Returns the key if it is valid now, otherwise null. */
  findKey(id: string): Promise<KnownKey | null>;
  identify: IdentityCheck;
  authorityOf: AuthorityOf;
  /** The names of the providers that people sign in with; empty: everyone who has signed in may do so again. */
  providers: readonly string[];
  /** True if the installation takes roles from tokens. */
  claims_roles: boolean;
}

interface StartFacts {
  /** The saved thing, such as `schedule`. */
  noun: string;
  /** True if its runs call the default runtime. */
  uses_token: boolean;
}

/**
 * Returns the reason, as a sentence, why something that was saved to run later may not start now; null: it may. Throws if that
 * cannot be determined now.
 */
export type LaterStarts = (work: LeftToRun, start_facts: StartFacts) => Promise<string | null>;

/**
 * Checks the present rights of the owner, as far as they are known without a token: the role in the settings, otherwise the one
 * that the issuer named at the last sign-in. The sign-in that saved something does not matter, and the stored token matters only
 * for the default runtime.
 */
export function laterStarts(ports: LaterStartPorts): LaterStarts {
  return async (work, start_facts) =>
    (await rightsRefusal(ports, work, start_facts)) ??
    (start_facts.uses_token ? await tokenRefusal(ports, work, start_facts) : null);
}

async function rightsRefusal(
  ports: LaterStartPorts,
  { owner, ...left }: LeftToRun,
  { noun }: StartFacts,
): Promise<string | null> {
  const principal = await ports.principal(owner);
  if (!principal) return `The owner of this ${noun} is not known to this installation; sign in as the owner and save it again`;
  const { provider, claimed_role, ...person } = principal;
  if (ports.providers.length > 0 && !ports.providers.includes(provider))
    return `The owner of this ${noun} signed in with ${provider}, which this installation no longer accepts; save it as someone who can sign in`;
  // Undefined: it was saved without a key; null: its key is not valid.
  const key = left.service_key_id === null ? undefined : await ports.findKey(left.service_key_id);
  if (key === null || (key && key.owner !== owner))
    return `The service key that this ${noun} was saved with has expired or was deleted; save the ${noun} again, with a valid key or signed in`;
  const role = ports.claims_roles && claimed_role ? { claimed_role } : {};
  const service_key = key && { service_key: { id: key.id, role: key.role, scopes: key.scopes, expires_at: key.expires_at } };
  const { scopes } = ports.authorityOf({ ...person, ...role, ...service_key, provider });
  if (scopes.includes('run')) return null;
  const whose = key ? `The service key that this ${noun} was saved with` : `The role of the owner of this ${noun}`;
  return `${whose} does not have the scope run, so it starts no runs`;
}

async function tokenRefusal(
  { identify }: LaterStartPorts,
  { owner, access_token }: LeftToRun,
  { noun }: StartFacts,
): Promise<string | null> {
  const remedy = `save the ${noun} again with an access token that is valid, or give the agent a provider`;
  const why = "The agent uses the default runtime, which is called with its owner's access token";
  if (!access_token || isServiceKey(access_token) || isBrowserSession(access_token))
    return `${why}, and this ${noun} has none; ${remedy}`;
  const identity = await identify(access_token);
  if (identity && principalKey(identity) === owner) return null;
  return `${why}, and the one kept with this ${noun} has expired or was revoked; ${remedy}`;
}
