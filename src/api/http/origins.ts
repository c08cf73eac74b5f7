import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { REQUEST_ID } from './request-ids.ts';

/** Returns true if pages of a site may use the service. */
export type AllowsOrigin = (request: Pick<FastifyRequest, 'headers' | 'url'>) => Promise<boolean>;

interface Origins {
  cors_origins: readonly string[];
  /** True if a token of a thread names the origin, and is valid, or was lately. */
  knowsOrigin(origin: string): Promise<boolean>;
}

/** The paths that a token of a thread opens. Everywhere else only the installation's own settings count. */
const OPEN_TO_TOKENS = /^\/api\/(?:threads|tasks|workflows|attachments)\//;

/** Which sites a preflight is answered to. It comes without the token, so that any one of the origin counts, also one that has just expired: the page
 * reads the refusal then. The request itself is checked with its own. */
export const allowOrigins =
  ({ cors_origins, knowsOrigin }: Origins): AllowsOrigin =>
  async ({ headers: { origin }, url }) => {
    if (origin === undefined) return false;
    if (cors_origins.includes(origin)) return true;
    // Without an answer of the database the request itself fails, with the reason.
    return OPEN_TO_TOKENS.test(url) && (await knowsOrigin(origin).catch(() => false));
  };

/** Lets the pages of allowed sites read answers. */
export async function shareWithOrigins(http: FastifyInstance, allowsOrigin: AllowsOrigin): Promise<void> {
  await http.register(cors, () => (request: FastifyRequest, done: (error: Error | null, options?: object) => void) => {
    const toOptions = (is_allowed: boolean) => ({
      origin: is_allowed ? request.headers.origin : false,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['link', 'x-total-count', 'etag', REQUEST_ID],
    });
    void allowsOrigin(request).then((is_allowed) => done(null, toOptions(is_allowed)));
  });
}
