import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../domain/errors.ts';
import type { CachedIdentity } from '../identity/cached-identity.ts';
import type { Principal } from '../store/principals.ts';
import type { SignIns } from './sign-in.ts';

/** Who asks, with the token that proves it. The token goes nowhere but into a sealed column and to the default runtime. */
export interface Caller extends Principal {
  /** `provider:subject`, what things are owned by. */
  key: string;
  access_token: string;
  is_admin: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
}

interface AuthOptions {
  identify: CachedIdentity;
  sign_ins: SignIns;
  /** Ownership keys of administrators. */
  admins: readonly string[];
}

/** Every request under it must carry a bearer token that an identity provider vouches for. */
export function requireCaller(http: FastifyInstance, { identify, sign_ins, admins }: AuthOptions): void {
  http.decorateRequest('caller');
  http.addHook('onRequest', async (request) => {
    const access_token = bearerOf(request);
    const principal = access_token && (await signedIn({ identify, sign_ins }, access_token, request.ip));
    if (!principal) {
      throw new AppError(
        'unauthorized',
        access_token ? 'The access token is not valid' : 'Send the header Authorization: Bearer <access token>',
      );
    }
    const key = `${principal.provider}:${principal.subject}`;
    request.caller = { ...principal, key, access_token, is_admin: admins.includes(key) };
  });
}

/** Whose token it is. Attempts that fail are counted before a provider is asked; who was let in lately is not locked out by others. */
async function signedIn(
  { identify, sign_ins }: Pick<AuthOptions, 'identify' | 'sign_ins'>,
  access_token: string,
  address: string,
): Promise<Principal | null> {
  if (identify.knows(access_token)) return identify(access_token);
  sign_ins.attempt(address);
  const principal = await identify(access_token).catch((error) => {
    sign_ins.forgive(address);
    throw error;
  });
  if (principal) sign_ins.forgive(address);
  return principal;
}

function bearerOf({ headers: { authorization } }: FastifyRequest): string | null {
  const found = /^Bearer +(\S+)$/i.exec(authorization ?? '');
  return found?.[1] ?? null;
}
