import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { hostRule } from '../domain/hosts.ts';

interface GuardOptions {
  /** The loopback port on which the guard listens. */
  port: number;
  /** The address of the web interface behind the guard. */
  target: { host: string; port: number };
}

const HOST = '127.0.0.1';
const HEADERS = {
  'content-security-policy': "frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Protects the web interface of Temporal, which checks neither caller nor host name: without the guard, a page in a browser on
 * this machine could bind its name to loopback, and then read and terminate runs. A person's own browser and tools may pass;
 * other sites' pages may only link here.
 */
export async function startUiGuard({ port, target }: GuardOptions): Promise<{ close(): Promise<void> }> {
  const isAllowedHost = hostRule({ listening: HOST });
  const server = createServer((incoming, outgoing) => {
    const { host } = incoming.headers;
    if (!isAllowedHost(host)) return refuse(outgoing, 421, `This is not ${host}: open http://${HOST}:${port}`);
    if (!isOwn(incoming)) return refuse(outgoing, 403, "Other sites' pages may link to the Temporal UI, not use it");
    relay(incoming, outgoing, target);
  });
  server.listen({ port, host: HOST, exclusive: true });
  await once(server, 'listening');
  return {
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * True if a request does not come from another site. Browsers send its origin; other clients do not, but they already run on
 * this machine.
 */
function isOwn({ method, headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (headers.origin !== undefined && headers.origin !== `http://${headers.host}`) return false;
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  return method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

function refuse(outgoing: ServerResponse, status: number, text: string): void {
  outgoing.writeHead(status, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

function relay(incoming: IncomingMessage, outgoing: ServerResponse, target: GuardOptions['target']): void {
  const host = `${target.host}:${target.port}`;
  const options = { ...target, method: incoming.method, path: incoming.url, headers: { ...incoming.headers, host } };
  const upstream = request(options);
  upstream.on('response', (answer) => {
    outgoing.writeHead(answer.statusCode!, { ...answer.headers, ...HEADERS });
    answer.on('error', () => outgoing.destroy()).pipe(outgoing);
  });
  upstream.on('error', () => {
    if (outgoing.headersSent) outgoing.destroy();
    else refuse(outgoing, 502, 'The Temporal UI does not answer');
  });
  outgoing.on('close', () => upstream.destroy());
  incoming.pipe(upstream);
}
