import { randomBytes } from 'node:crypto';
import type { McpSignIns } from '../../api/ports.ts';
import { toSignIn } from '../../api/routes/mcps.ts';
import { mcpDestination } from '../../domain/destinations.ts';
import { AppError } from '../../domain/errors.ts';
import { resolveTarget } from '../../tools/mcp/config.ts';
import { beginSignIn, finishSignIn } from '../../tools/mcp/sign-in.ts';
import type { SharedServices } from '../core.ts';

const STATE_BYTES = 32;
const ATTEMPT_MS = 10 * 60_000;

/**
 * Returns the callback path of a server. Each server has a separate one: an authorization server sends a code only to the address
 * that it knows for the client of this server.
 */
const toCallbackPath = (server_id: string) => `/api/mcps/${server_id}/sign-in/callback`;

export function createMcpSignIns({ store, setting, egress }: Pick<SharedServices, 'store' | 'setting' | 'egress'>): McpSignIns {
  const { fetch } = egress.configuration;
  function redirectUrl(server_id: string): string {
    const public_url = setting.public_url();
    if (public_url) return new URL(toCallbackPath(server_id), public_url).href;
    throw new AppError(
      'conflict',
      'The server has to send your browser back here: set PERDURA_PUBLIC_URL to the address of this installation',
      {
        code: 'public_url_needed',
      },
    );
  }
  return {
    async begin({ id, name }, caller) {
      const redirect_url = redirectUrl(id);
      const server = await store.mcpServers.findOpened(id);
      if (!server) throw new AppError('not_found', `The MCP server ${name} was deleted`);
      const destination = mcpDestination(server);
      const open = (token: string) => store.tokens.open({ name: token, principal: caller.key, destination });
      const state = randomBytes(STATE_BYTES).toString('base64url');
      const target = await resolveTarget(server, open);
      const { authorization_url, origins, secrets } = await beginSignIn(target, { state, redirect_url, fetch });
      const expires_at = new Date(Date.now() + ATTEMPT_MS);
      const { key: principal, access_token: session } = caller;
      await store.mcpSignIns.begin({ server_id: id, principal, session, state, secrets, expires_at });
      return { authorization_url, origins, redirect_url, expires_at: expires_at.toISOString() };
    },
    async finish({ server_id: callback_server_id, state, code, iss: issuer }, caller) {
      const attempt = await store.mcpSignIns.take(state, { principal: caller.key, session: caller.access_token });
      if (!attempt)
        throw new AppError(
          'conflict',
          'This sign-in is too old, was finished already, or was begun by somebody else; begin it again',
          {
            code: 'mcp_sign_in_expired',
          },
        );
      const { server_id, principal, ...secrets } = attempt;
      if (callback_server_id !== undefined && callback_server_id !== server_id)
        throw new AppError('forbidden', 'This sign-in was answered for another MCP server than the one it began at', {
          code: 'mcp_sign_in_server',
        });
      const signed = await finishSignIn(secrets, { code, issuer, redirect_url: redirectUrl(server_id), fetch });
      return { server_id, ...toSignIn(await store.mcpSignIns.save({ server_id, principal }, signed)) };
    },
  };
}
