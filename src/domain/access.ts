export const CALLER_ROLES = ['viewer', 'editor', 'administrator'] as const;
export type CallerRole = (typeof CALLER_ROLES)[number];

/** The permissions that operations require of their caller. */
export const SCOPES = ['read', 'run', 'write', 'keys', 'audit'] as const;
export type Scope = (typeof SCOPES)[number];

/** Returns the owner key: the provider and its stable subject, because a login can be reassigned. */
export const principalKey = ({ provider, subject }: { provider: string; subject: string }) => `${provider}:${subject}`;

/** The permissions of a caller. */
export interface Authority {
  role: CallerRole;
  scopes: readonly Scope[];
}

/** The scopes of each role. */
export const SCOPES_OF: Record<CallerRole, readonly Scope[]> = {
  viewer: ['read'],
  editor: ['read', 'run', 'write', 'keys'],
  administrator: ['read', 'run', 'write', 'keys', 'audit'],
};

const RANK: Record<CallerRole, number> = { viewer: 0, editor: 1, administrator: 2 };

export const lowerRole = (a: CallerRole, b: CallerRole): CallerRole => (RANK[a] < RANK[b] ? a : b);

export const highestRole = (roles: readonly unknown[]): CallerRole | null =>
  (Object.keys(RANK) as CallerRole[]).findLast((role) => roles.includes(role)) ?? null;

/** True if `request` grants nothing that `own` lacks. */
export const isWithin = (request: Authority, own: Authority): boolean =>
  RANK[request.role] <= RANK[own.role] && request.scopes.every((scope) => own.scopes.includes(scope));

/** Length in bytes of a service key and of a session id, long enough that the displayed characters of a key do not matter. */
export const OWN_TOKEN_BYTES = 40;
const SERVICE_KEY = /^pk_[\w-]{54}$/;

/** True if a bearer token is a service key. Such a token must reach neither an identity provider nor a model. */
export const isServiceKey = (access_token: string): boolean => SERVICE_KEY.test(access_token);

const BROWSER_SESSION = /^ps_[\w-]{54}$/;

/**
 * True if a token is the id of a browser session. It is accepted from a cookie only and, like a service key, must reach no one
 * else.
 */
export const isBrowserSession = (access_token: string): boolean => BROWSER_SESSION.test(access_token);

/** The first characters of a thread's token. */
export const THREAD_TOKEN_PREFIX = 'pt_';
const THREAD_TOKEN = /^pt_[\w-]{54}$/;

/** True if a bearer token opens one thread only. Like a service key, it must reach no one else. */
export const isThreadToken = (access_token: string): boolean => THREAD_TOKEN.test(access_token);
