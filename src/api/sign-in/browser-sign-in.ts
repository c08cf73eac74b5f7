import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { principalKey } from '../../domain/access.ts';
import { LoginFailure } from '../../domain/login-failure.ts';
import type { CachedIdentity, Identity } from '../../identity/cached-identity.ts';
import type { LoginChecks, OidcLogin } from '../../identity/oidc-login.ts';
import type { Store } from '../../store/index.ts';
import type { KeyRing } from '../../store/secrets/key-ring.ts';
import { identifyToken } from '../http/auth.ts';
import type { AuditTrail } from '../service/audit-trail.ts';
import { type BrowserCookies, browserCookies } from './browser-cookies.ts';
import { refuseOtherOrigins } from './same-origin.ts';
import type { SignIns } from './sign-in.ts';

/** The means by which people sign in to the dashboard without a token. */
export interface BrowserSignIn {
  login: OidcLogin;
  /** The issuer's name, shown on the button. */
  name: string;
  session_hours: number;
  public_url(): string | null;
  keys: KeyRing;
}

interface Services {
  store: Pick<Store, 'browserSessions' | 'principals'>;
  identify: CachedIdentity;
  audit: AuditTrail;
  sign_ins: SignIns;
}

/** The reason why no one is signed in; the sign-in page has a sentence for each. */
type Problem = 'expired' | LoginFailure['kind'];

const LOGIN_SECONDS = 10 * 60;
const DASHBOARD = '/dashboard';
const RETURN_CHARACTERS = 2_000;

export const createCookies = ({ public_url }: Pick<BrowserSignIn, 'public_url'>): BrowserCookies =>
  browserCookies(() => public_url()?.startsWith('https:') === true);

export function browserSignInRoutes(http: FastifyInstance, services: Services, sign_in: BrowserSignIn | null): void {
  if (!sign_in) {
    http.get('/auth/session', async () => ({ issuer: null, login_url: null, signed_in: false }));
    return;
  }
  const { store, identify, audit, sign_ins } = services;
  const { login, name, session_hours, public_url, keys } = sign_in;
  const cookies = createCookies(sign_in);
  // The URL is absolute, because the cookie must be set for the host that the issuer sends the browser back to.
  const ownUrl = (path: string) => new URL(path, public_url()!).href;
  const redirectWithProblem = (reply: FastifyReply, problem: Problem) => reply.redirect(`${DASHBOARD}/?sign_in=${problem}`);

  http.get('/auth/session', async (request) => {
    const session = cookies.read(request, 'session');
    const person = session && (await identifyToken({ identify, sign_ins }, session, request.ip));
    return { issuer: name, login_url: ownUrl('/auth/login'), signed_in: Boolean(person) };
  });

  http.get('/auth/login', async (request, reply) => {
    const return_to = returnPage((request.query as { return_to?: unknown }).return_to);
    try {
      const { url, checks } = await login.begin(ownUrl('/auth/callback'));
      const value = sealLogin(keys, { ...checks, return_to, expires_at: Date.now() + LOGIN_SECONDS * 1_000 });
      cookies.set(reply, 'login', { value, seconds: LOGIN_SECONDS });
      return reply.redirect(url);
    } catch (error) {
      return redirectWithProblem(reply, toProblem(error, request));
    }
  });

  // The log omits the query, which contains the code.
  http.get('/auth/callback', { logSerializers: { req: withoutQuery } }, async (request, reply) => {
    const pending_login = openLogin(keys, cookies.read(request, 'login'));
    cookies.clear(reply, 'login');
    if (!pending_login || (request.query as { state?: unknown }).state !== pending_login.state)
      return redirectWithProblem(reply, 'expired');
    sign_ins.attempt(request.ip);
    try {
      const person = await login.finish(new URL(ownUrl(request.url)), pending_login);
      sign_ins.forgive(request.ip);
      await begin({ request, reply }, person);
      return reply.redirect(pending_login.return_to);
    } catch (error) {
      const problem = toProblem(error, request);
      if (problem === 'unreachable') sign_ins.forgive(request.ip);
      return redirectWithProblem(reply, problem);
    }
  });

  http.post('/auth/logout', async (request, reply) => {
    const session = cookies.read(request, 'session');
    if (!session) return reply.code(204).send();
    refuseOtherOrigins(request, public_url());
    const person = await identify(session).catch(() => null);
    await store.browserSessions.remove(session);
    cookies.clear(reply, 'session');
    if (person) await audit.recordSignIn(request, toPerson(person), 'sign_out');
    return reply.code(204).send();
  });

  /** Creates a new session for every sign-in: a session planted in the browser before must not become this person's. */
  async function begin(
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
    { claimed_role, ...person }: Awaited<ReturnType<OidcLogin['finish']>>,
  ): Promise<void> {
    const before = cookies.read(request, 'session');
    if (before) await store.browserSessions.remove(before);
    const seconds = session_hours * 3_600;
    const expires_at = new Date(Date.now() + seconds * 1_000);
    const value = await store.browserSessions.create({ ...person, claimed_role, expires_at });
    await store.principals.noteSignIn({ ...person, claimed_role });
    cookies.set(reply, 'session', { value, seconds });
    await audit.recordSignIn(request, toPerson(person), 'sign_in');
  }
}

const toPerson = (person: Pick<Identity, 'provider' | 'subject' | 'login'>) => ({
  key: principalKey(person),
  login: person.login,
});

function toProblem(error: unknown, { log }: FastifyRequest): Problem {
  if (!(error instanceof LoginFailure)) throw error;
  log.warn({ reason: error.message }, 'sign-in failed');
  return error.kind;
}

const withoutQuery = ({ method, url, host, ip }: FastifyRequest) => ({ method, url: url.split('?')[0], host, remoteAddress: ip });

/** Returns a page of the dashboard, whatever address was requested. */
export function returnPage(return_to: unknown): string {
  const base = 'http://dashboard';
  if (typeof return_to !== 'string' || return_to.length > RETURN_CHARACTERS || !URL.canParse(return_to, base))
    return `${DASHBOARD}/`;
  const { origin, pathname, search, hash } = new URL(return_to, base);
  const is_page = origin === base && (pathname === DASHBOARD || pathname.startsWith(`${DASHBOARD}/`));
  return is_page ? `${pathname}${search}${hash}` : `${DASHBOARD}/`;
}

/** A sign-in in progress. */
interface Login extends LoginChecks {
  /** The page of the dashboard to show afterwards. */
  return_to: string;
  expires_at: number;
}

const CONTEXT = 'sign-in in progress';

/** Seals the sign-in, so that only a process of this installation can have made it, and no one can read its verifier. */
export function sealLogin(keys: Pick<KeyRing, 'seal'>, login: Login): string {
  const { sealed, key_id } = keys.seal(JSON.stringify(login), CONTEXT);
  return [Buffer.from(key_id), sealed].map((part) => Buffer.from(part).toString('base64url')).join('.');
}

/** Returns the sign-in; null if the cookie is invalid or too old. */
function openLogin(keys: Pick<KeyRing, 'openQuietly'>, cookie: string | null): Login | null {
  const [key_id, sealed] = (cookie ?? '').split('.').map((part) => Buffer.from(part, 'base64url'));
  if (!key_id || !sealed) return null;
  try {
    const login = JSON.parse(keys.openQuietly({ key_id: key_id.toString(), sealed: new Uint8Array(sealed) }, CONTEXT)) as Login;
    return login.expires_at > Date.now() ? login : null;
  } catch {
    return null;
  }
}
