import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../domain/errors.ts';
import type { Principal } from '../store/principals.ts';
import type { IdentityCheck } from './identity.ts';

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

export interface AuthOptions {
  identify: IdentityCheck;
  /** Ownership keys of administrators. */
  admins: readonly string[];
}

/** Every request under it must carry a bearer token that an identity provider vouches for. */
export function requireCaller(http: FastifyInstance, { identify, admins }: AuthOptions): void {
  http.decorateRequest('caller');
  http.addHook('onRequest', async (request) => {
    const access_token = bearerOf(request);
    const principal = access_token && (await identify(access_token));
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

function bearerOf({ headers: { authorization } }: FastifyRequest): string | null {
  const found = /^Bearer +(\S+)$/i.exec(authorization ?? '');
  return found?.[1] ?? null;
}
