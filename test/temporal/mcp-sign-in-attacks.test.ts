import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type ForgingMcpServer, startForgingMcpServer } from '../support/peers/forging-mcp-server.ts';
import { consent, type OAuthMcpServer, startOAuthMcpServer } from '../support/peers/oauth-mcp-server.ts';

let here: TestInstallation;
let honest: OAuthMcpServer;
let attacker: ForgingMcpServer | undefined;
beforeAll(async () => {
  honest = await startOAuthMcpServer();
  honest.account = 'alice@honest';
  here = await startTestInstallation({ worker: false, setting: { public_url: () => here.url } });
});
afterEach(async () => {
  await attacker?.stop();
  attacker = undefined;
});
afterAll(async () => {
  await here?.stop();
  await honest?.stop();
});

const originOf = (url: string) => new URL(url).origin;
async function forging(claims: (self: string) => object): Promise<ForgingMcpServer> {
  attacker = await startForgingMcpServer({ honest: originOf(honest.url), claims });
  return attacker;
}

let made = 0;
async function serverAt(url: string, oauth?: object): Promise<string> {
  const connection_config = { url, ...(oauth ? { oauth } : {}) };
  const values = { name: `attacked ${++made}`, transport_type: 'http', connection_config };
  return (await here.alice.ok(here.alice.post('/api/mcps', values), 201)).id;
}
const begin = (id: string) => here.alice.post(`/api/mcps/${id}/sign-in`);
const finish = async (answer: object) => {
  const { status, body } = await here.alice.post('/api/mcps/sign-in', answer);
  return [status, body.code];
};

it.each([
  ['an honest server', () => originOf(honest.url)],
  ['a path below it', (self: string) => `${self}/other`],
  ['its address with other letters', (self: string) => `${self}.example`],
])('metadata that names %s as its issuer begins no sign-in', async (_, issuer) => {
  const { url, stolen } = await forging((self) => ({ issuer: issuer(self) }));
  const clients = honest.clients.size;
  const { status, body } = await begin(await serverAt(url));
  expect([status, body.code]).toEqual([502, 'mcp_sign_in_metadata']);
  expect(body.detail).toContain(issuer(originOf(url)));
  expect([stolen, honest.clients.size]).toEqual([[], clients]);
});

it('metadata of an issuer with a slash at its end is its own', async () => {
  const { url } = await forging((self) => ({ issuer: `${self}/` }));
  expect((await begin(await serverAt(url))).status).toBe(201);
});

it('metadata about the resource of another server begins no sign-in', async () => {
  const forged = await forging((self) => ({ issuer: self }));
  forged.resource = honest.url;
  expect((await begin(await serverAt(forged.url))).status).toBe(502);
  expect(forged.stolen).toEqual([]);
});

it('a reply that begins a sign-in names where the person consents and where the tokens come from', async () => {
  const forged = await forging((self) => ({ issuer: self }));
  const { body } = await begin(await serverAt(forged.url));
  expect(originOf(body.authorization_url)).toBe(originOf(honest.url));
  expect(body.origins).toEqual({ server: forged.origin, authorization: originOf(honest.url), token: forged.origin });
  const own = await begin(await serverAt(honest.url));
  const origin = originOf(honest.url);
  expect(own.body.origins).toEqual({ server: origin, authorization: origin, token: origin });
});

it('the code of an honest server that names itself does not reach the token endpoint of another one', async () => {
  const { url, stolen } = await forging((self) => ({ issuer: self }));
  const { body } = await begin(await serverAt(url));
  const answer = { ...(await consent(body.authorization_url)), iss: `${originOf(honest.url)}/` };
  expect(await finish(answer)).toEqual([403, 'mcp_sign_in_issuer']);
  expect(stolen).toEqual([]);
});

it('the code that came back for one server does not reach another one', async () => {
  const redirect_of = (id: string) => `${here.url}/api/mcps/${id}/sign-in/callback`;
  const oauth = { client_id: 'known' };
  const attacked = await serverAt(honest.url, oauth);
  honest.clients.set('known', {
    client_id: 'known',
    redirect_uris: [redirect_of(attacked)],
    token_endpoint_auth_method: 'none',
  } as never);
  const { url, stolen } = await forging((self) => ({ issuer: self }));
  const id = await serverAt(url, oauth);
  const { body } = await begin(id);
  // The honest server takes its client's own address alone.
  expect(new URL(body.authorization_url).searchParams.get('redirect_uri')).toBe(redirect_of(id));
  expect((await fetch(body.authorization_url, { redirect: 'manual' })).status).toBe(400);
  // The attacker sends the browser there with that address.
  const planted = new URL(body.authorization_url);
  planted.searchParams.set('redirect_uri', redirect_of(attacked));
  const answer = await consent(planted.href);
  expect(answer.server_id).toBe(attacked);
  expect(await finish(answer)).toEqual([403, 'mcp_sign_in_server']);
  expect(await finish({ ...answer, server_id: id })).toEqual([409, 'mcp_sign_in_expired']);
  expect(stolen).toEqual([]);
});
