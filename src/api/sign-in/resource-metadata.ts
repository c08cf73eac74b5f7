import type { FastifyInstance } from 'fastify';

/** The source of access tokens for clients of `/mcp`. */
export interface Authorization {
  /** The OpenID Connect issuer whose tokens are accepted; null: no issuer, so clients need a token from elsewhere. */
  issuer: string | null;
  /** Returns the public URL of this service; null: unknown. */
  public_url(): string | null;
}

const RESOURCE = '/mcp';
const METADATA = `/.well-known/oauth-protected-resource${RESOURCE}`;

/** Shows clients of `/mcp` without a valid token where to get one: OAuth 2.0 Protected Resource Metadata (RFC 9728). */
export function resourceMetadata(http: FastifyInstance, { issuer, public_url }: Authorization): void {
  if (!issuer) return;
  const own = (path: string) => {
    const base = public_url();
    return base && new URL(path, base).href;
  };
  http.get(METADATA, async (_request, reply) => {
    const resource = own(RESOURCE);
    if (!resource) return reply.callNotFound();
    return { resource, authorization_servers: [issuer], bearer_methods_supported: ['header'], resource_name: 'Perdura' };
  });
  http.addHook('onSend', async ({ routeOptions: { url } }, reply) => {
    const metadata = own(METADATA);
    if (reply.statusCode === 401 && url === RESOURCE && metadata)
      reply.header('www-authenticate', `Bearer resource_metadata="${metadata}"`);
  });
}
