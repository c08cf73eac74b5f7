import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export interface TestIssuer {
  url: string;
  client_id: string;
  client_secret: string;
  /** The status with which the issuer answers every request, as if it was down; null: it works. */
  broken: number | null;
  /** The requests so far, without queries. */
  asked: string[];
  /** The roles that the issuer names for a login. */
  roles: Record<string, string[]>;
  /** Registers the client. The issuer knows none before, because Perdura's address is known late. */
  register(perdura_url: string): void;
  stop(): Promise<void>;
}

/** Starts the reference implementation of an OpenID Connect provider. Its own pages sign in everyone, under any login. */
export async function startIssuer({ is_public = false } = {}): Promise<TestIssuer> {
  let answer: ReturnType<Provider['callback']> | null = null;
  const server = createServer((request, response) => {
    issuer.asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    if (issuer.broken !== null || !answer) return void response.writeHead(issuer.broken ?? 503).end('down');
    void answer(request, response);
  });
  await once(server.listen(0, 'localhost'), 'listening');
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const [client_id, client_secret] = ['perdura-dashboard', 'a secret of the client'];
  const issuer: TestIssuer = {
    ...{ url, client_id, client_secret, broken: null, asked: [], roles: {} },
    register(perdura_url) {
      const secret = is_public ? { token_endpoint_auth_method: 'none' } : { client_secret };
      const provider = new Provider(url, {
        clients: [{ client_id, ...secret, redirect_uris: [`${perdura_url}/auth/callback`] }],
        claims: { openid: ['sub'], profile: ['preferred_username', 'roles'] },
        cookies: { keys: ['a key of the issuer'] },
        findAccount: (_context: unknown, login: string) => ({
          accountId: login,
          claims: async () => ({ sub: login, preferred_username: login, roles: issuer.roles[login] ?? [] }),
        }),
      });
      answer = provider.callback();
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return issuer;
}

/**
 * Creates a browser without scripts: it keeps cookies by host and port, follows redirects, and fills in the forms of the
 * issuer.
 */
export function visitor(login: string) {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (url: string) => {
    const { host } = new URL(url);
    const jar = jars.get(host) ?? new Map<string, string>();
    jars.set(host, jar);
    return jar;
  };
  const cookieOf = (url: string) => [...jarOf(url)].map(([name, value]) => `${name}=${value}`).join('; ');

  async function step(url: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(url, { ...init, redirect: 'manual', headers: { ...init.headers, cookie: cookieOf(url) } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) jarOf(url).delete(name);
      else jarOf(url).set(name, value);
    }
    return response;
  }

  /** Continues until `stop` returns true, or to the first page without a form. */
  async function go(url: string, stop: (next: string) => boolean = () => false): Promise<{ url: string; response: Response }> {
    let place = url;
    let response = await step(place);
    for (;;) {
      const location = response.headers.get('location');
      if (location) {
        const next = new URL(location, place).href;
        if (stop(next)) return { url: next, response };
        place = next;
        response = await step(place);
        continue;
      }
      const page = await response.clone().text();
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
      const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
      if (!prompt || !action) return { url: place, response };
      place = new URL(action, place).href;
      response = await step(place, { method: 'POST', body: new URLSearchParams({ prompt, login, password: 'x' }) });
    }
  }
  return { go, step, jarOf, cookieOf };
}
