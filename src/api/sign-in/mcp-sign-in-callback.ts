import type { FastifyInstance, FastifyRequest } from 'fastify';

/** The page of the dashboard that finishes a sign-in at an MCP server. */
const PAGE = '/dashboard/mcps/sign-in';
const PASSED_ON = ['state', 'code', 'iss', 'error', 'error_description'];
const MOST_CHARACTERS = 8_192;

/**
 * Receives the browser that an MCP server's authorization server sends back. It requires no access token, since a browser sends
 * none here, and it only passes the answer on: the dashboard finishes the sign-in in the name of its user. The answer travels in
 * the fragment, which never reaches a server or a log. Each MCP server has a separate address, so that an answer for one server
 * is never mistaken for another's.
 */
export function mcpSignInCallback(http: FastifyInstance): void {
  http.get('/api/mcps/:id/sign-in/callback', { logSerializers: { req: withoutQuery } }, async ({ params, query }, reply) => {
    const parameters = query as Record<string, unknown>;
    const { id } = params as { id: string };
    const safe_parameters = PASSED_ON.flatMap((name) => {
      const value = parameters[name];
      return typeof value === 'string' && value.length <= MOST_CHARACTERS ? [[name, value] as [string, string]] : [];
    });
    return reply
      .header('cache-control', 'no-store')
      .redirect(`${PAGE}#${new URLSearchParams([['server_id', id], ...safe_parameters])}`);
  });
}

const withoutQuery = ({ method, url, host, ip }: FastifyRequest) => ({ method, url: url.split('?')[0], host, remoteAddress: ip });
