import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InvalidGrantError, InvalidTokenError, ServerError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type { AuthorizationParams } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthClientInformationFull, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { clientOf } from '../client.ts';

interface Session {
  account: string;
  client_id: string;
  resource: string | undefined;
}

export type OAuthMcpServer = Awaited<ReturnType<typeof startOAuthMcpServer>>;

/**
 * Starts an MCP server with the library's own authorization server. The test names the account that consents. A refresh token
 * works once, as OAuth 2.1 requires. Its tools: `whoami` returns the account, `reveal` the access token of the call.
 */
export async function startOAuthMcpServer({ expires_in = 3_600, renews = true }: { expires_in?: number; renews?: boolean } = {}) {
  const clients = new Map<string, OAuthClientInformationFull>();
  const codes = new Map<string, { client_id: string; account: string; params: AuthorizationParams }>();
  const access = new Map<string, Session>();
  const refresh = new Map<string, Session>();
  const here = {
    account: 'nobody',
    /** How often tokens were renewed. */
    renewals: 0,
    /** How long the server takes for a renewal. */
    renewal_ms: 0,
    /** True: the token endpoint fails, as during a restart. */
    is_down: false,
    exchanges: [] as Session[],
    calls: [] as string[],
    /** The authorization of every request to the MCP server itself. */
    authorizations: [] as (string | undefined)[],
  };
  const issued = new Set<string>();
  const tokensFor = (session: Session): OAuthTokens => {
    const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` };
    access.set(tokens.access_token, session);
    refresh.set(tokens.refresh_token, session);
    for (const token of Object.values(tokens)) issued.add(token);
    const { refresh_token: _, ...alone } = tokens;
    return { ...(renews ? tokens : alone), token_type: 'bearer', expires_in };
  };
  const provider = {
    clientsStore: {
      getClient: (id: string) => clients.get(id),
      registerClient(client: OAuthClientInformationFull) {
        clients.set(client.client_id, client);
        return client;
      },
    },
    async authorize(
      { client_id }: OAuthClientInformationFull,
      params: AuthorizationParams,
      response: { redirect(to: string): void },
    ) {
      const code = randomUUID();
      codes.set(code, { client_id, account: here.account, params });
      const back = new URL(params.redirectUri);
      back.search = new URLSearchParams({ code, ...(params.state ? { state: params.state } : {}) }).toString();
      response.redirect(back.href);
    },
    async challengeForAuthorizationCode(_: OAuthClientInformationFull, code: string) {
      const known = codes.get(code);
      if (!known) throw new InvalidGrantError('No such code');
      return known.params.codeChallenge;
    },
    async exchangeAuthorizationCode({ client_id }: OAuthClientInformationFull, code: string, ...sent: unknown[]) {
      const known = codes.get(code);
      codes.delete(code);
      if (known?.client_id !== client_id) throw new InvalidGrantError('No such code');
      const session = { account: known.account, client_id, resource: sent[2] ? String(sent[2]) : undefined };
      here.exchanges.push(session);
      return tokensFor(session);
    },
    async exchangeRefreshToken({ client_id }: OAuthClientInformationFull, token: string) {
      if (here.is_down) throw new ServerError('Not now');
      await new Promise((done) => setTimeout(done, here.renewal_ms));
      const session = refresh.get(token);
      refresh.delete(token);
      if (session?.client_id !== client_id) throw new InvalidGrantError('No such refresh token');
      here.renewals += 1;
      return tokensFor(session);
    },
    async verifyAccessToken(token: string) {
      const session = access.get(token);
      if (!session) throw new InvalidTokenError('No such token');
      const expiresAt = Math.floor(Date.now() / 1_000) + 60;
      return { token, clientId: session.client_id, scopes: [], expiresAt, extra: { account: session.account } };
    },
  };
  const app = createMcpExpressApp({ host: '127.0.0.1' });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${base}/mcp`;
  // Its limits would count all tests of a file as one client.
  const unlimited = { rateLimit: false as const };
  app.use(
    mcpAuthRouter({
      provider: provider as never,
      issuerUrl: new URL(base),
      resourceServerUrl: new URL(url),
      clientRegistrationOptions: unlimited,
      tokenOptions: unlimited,
      authorizationOptions: unlimited,
    }),
  );
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(new URL(url));
  server.on('request', ({ url: path, headers }) => {
    if (path === '/mcp') here.authorizations.push(headers.authorization);
  });
  app.use('/mcp', requireBearerAuth({ verifier: provider, resourceMetadataUrl }));
  app.all('/mcp', async (request: never, response: never) => {
    const { auth, body } = request as { auth: { token: string; extra: { account: string } }; body: unknown };
    const mcp = new McpServer({ name: 'signed', version: '1' });
    const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
    mcp.registerTool('whoami', { description: 'Whose account it is', annotations: { readOnlyHint: true } }, async () => {
      here.calls.push(auth.extra.account);
      return text(auth.extra.account);
    });
    mcp.registerTool('reveal', { description: 'The access token', annotations: { readOnlyHint: true } }, async () =>
      text(`It is ${auth.token}.`),
    );
    const transport = new StreamableHTTPServerTransport({});
    await mcp.connect(transport as never);
    await transport.handleRequest(request, response, body);
  });
  return Object.assign(here, {
    url,
    clients,
    /** Every token that was ever issued. */
    issued,
    /** Makes all access tokens invalid. */
    expire: () => access.clear(),
    /** Makes everything that was issued invalid. */
    revoke() {
      access.clear();
      refresh.clear();
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

/** Consents like a person in a browser; returns what the dashboard receives. */
export async function consent(authorization_url: string): Promise<{ server_id: string; state: string; code: string }> {
  const back = await fetch(authorization_url, { redirect: 'manual' });
  const callback = new URL(back.headers.get('location') ?? '');
  const passed = await fetch(callback, { redirect: 'manual' });
  const page = new URL(passed.headers.get('location') ?? '', callback);
  const { server_id = '', state = '', code = '' } = Object.fromEntries(new URLSearchParams(page.hash.slice(1)));
  return { server_id, state, code };
}

/** Signs a person in to a server, as the dashboard does. */
export async function signIn(client: ReturnType<typeof clientOf>, server_id: string): Promise<Record<string, any>> {
  const { authorization_url } = await client.ok(client.post(`/api/mcps/${server_id}/sign-in`), 201);
  return client.ok(client.post('/api/mcps/sign-in', await consent(authorization_url)), 200);
}
