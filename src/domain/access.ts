export const CALLER_ROLES = ['viewer', 'editor', 'administrator'] as const;
export type CallerRole = (typeof CALLER_ROLES)[number];

/** What an operation needs its caller to be allowed. */
export const SCOPES = ['read', 'run', 'write', 'keys', 'audit'] as const;
export type Scope = (typeof SCOPES)[number];

/** The owner key: the provider and its stable subject, because a login can be reassigned. */
export const principalKey = ({ provider, subject }: { provider: string; subject: string }) => `${provider}:${subject}`;

/** What a caller may do. */
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

export const highestRole = (named: readonly unknown[]): CallerRole | null =>
  (Object.keys(RANK) as CallerRole[]).findLast((role) => named.includes(role)) ?? null;

/** Whether nothing in `asked` goes beyond `own`. */
export const isWithin = (asked: Authority, own: Authority): boolean =>
  RANK[asked.role] <= RANK[own.role] && asked.scopes.every((scope) => own.scopes.includes(scope));

/** Bytes of a service key and of a session: enough that the characters shown of a key do not matter. */
export const OWN_TOKEN_BYTES = 40;
const SERVICE_KEY = /^pk_[\w-]{54}$/;

/** Whether a bearer token is a service key. It must then reach neither an identity provider nor a model. */
export const isServiceKey = (access_token: string): boolean => SERVICE_KEY.test(access_token);

const BROWSER_SESSION = /^ps_[\w-]{54}$/;

/** Whether a token is the id of a browser's session. It is accepted from a cookie only, and must reach no one else, as a service key. */
export const isBrowserSession = (access_token: string): boolean => BROWSER_SESSION.test(access_token);
