import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, isIPv6, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { dialEgress, findAnsweringAddress, resolveAllowedAddresses } from '../../../src/egress/dial.ts';
import { type EgressProxy, startEgressProxy } from '../../../src/egress/proxy.ts';
import { egressRules } from '../../../src/egress/rules.ts';

const resolving =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));

/** One address in each range that is not the public internet's. */
const RESERVED = {
  'this network': '0.0.0.0',
  private: '10.1.2.3',
  'private, 172.16 first': '172.16.0.1',
  'private, 172.16 last': '172.31.255.255',
  'private, 192.168': '192.168.1.1',
  shared: '100.64.0.1',
  loopback: '127.0.0.1',
  'loopback, elsewhere': '127.9.9.9',
  metadata: '169.254.169.254',
  protocols: '192.0.0.1',
  documentation: '192.0.2.1',
  'documentation 2': '198.51.100.1',
  'documentation 3': '203.0.113.1',
  AS112: '192.31.196.1',
  'AS112, delegated': '192.175.48.1',
  AMT: '192.52.193.1',
  '6to4 relays': '192.88.99.1',
  benchmarks: '198.18.0.1',
  multicast: '224.0.0.1',
  future: '240.0.0.1',
  broadcast: '255.255.255.255',
  'IPv6 unspecified': '::',
  'IPv6 loopback': '::1',
  'IPv4-compatible': '::127.0.0.1',
  mapped: '::ffff:127.0.0.1',
  'mapped in hexadecimal': '::ffff:7f00:1',
  'mapped, written out': '0:0:0:0:0:ffff:10.0.0.1',
  'mapped private': '::ffff:a00:1',
  translated: '::ffff:0:127.0.0.1',
  NAT64: '64:ff9b::7f00:1',
  'NAT64 of metadata': '64:ff9b::a9fe:a9fe',
  'NAT64, local': '64:ff9b:1::1',
  discard: '100::1',
  'discard, further': '100:0:0:1::1',
  Teredo: '2001:0:1::',
  'IPv6 benchmarks': '2001:2::1',
  'IPv6 AMT': '2001:3::1',
  'IPv6 AS112': '2001:4:112::1',
  ORCHID: '2001:10::1',
  ORCHID2: '2001:20::1',
  'drone identities': '2001:30::1',
  'IPv6 documentation': '2001:db8::1',
  'IPv6 documentation 2': '3fff::1',
  '6to4': '2002:7f00:1::',
  'IPv6 AS112, delegated': '2620:4f:8000::1',
  'segment routing': '5f00::1',
  'not assigned': '4000::1',
  'unique local': 'fc00::1',
  'unique local, self-made': 'fd00::1',
  'link-local': 'fe80::1',
  'link-local with a zone': 'fe80::1%eth0',
  'site-local': 'fec0::1',
  'IPv6 multicast': 'ff02::1',
  'public with a zone': '2606:4700::1111%eth0',
};

describe('egress rules', () => {
  const rules = egressRules();
  it.each(Object.entries(RESERVED))('refuse %s, %s', (_range, address) => {
    expect(rules({ address })).toBe('denied');
  });
  it.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:1.1.1.1', '::ffff:101:101'])('allow %s', (address) => {
    expect(rules({ address })).toBe('allowed');
  });
  it.each(['', 'localhost', '1.2.3', '127.1', '999.1.1.1', '0177.0.0.1', '0x7f000001', '2130706433', '1.1.1.1/8'])(
    'refuse %j, which is no address',
    (address) => {
      expect(rules({ address })).toBe('denied');
    },
  );
  it.each(['127.1', '0177.0.0.1', '0x7f000001', '0x7f.0.0.1', '2130706433', '017700000001', '0', '[::ffff:7f00:1]'])(
    'refuse %s as a host, whatever the system makes of it',
    async (hostname) => {
      // Some systems read it as loopback and some as nothing; none may dial it.
      await expect(dialEgress({ hostname, port: 80 }, rules)).rejects.toThrow(/not allowed|ENOTFOUND|EAI_AGAIN/);
    },
  );

  it('allow what an operator lists: addresses, ranges, names and ports', () => {
    const own = egressRules([
      '10.1.0.0/16',
      '127.0.0.1:8080',
      '[::1]:9',
      'fd00::/8',
      'git.internal',
      '*.corp.example',
      'db.internal:5432',
    ]);
    const at = (address: string, hostname?: string, port?: number) =>
      own({ address, ...(hostname ? { hostname } : {}), ...(port ? { port } : {}) }) === 'allowed';
    expect([at('10.1.2.3'), at('10.2.0.1'), at('::ffff:10.1.2.3')]).toEqual([true, false, true]);
    expect([at('127.0.0.1', 'x', 8080), at('127.0.0.1', 'x', 8081), at('::1', 'x', 9), at('::1', 'x', 80)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect([
      at('fd12::1'),
      at('10.9.9.9', 'git.internal'),
      at('10.9.9.9', 'GIT.internal.'),
      at('10.9.9.9', 'evil-git.internal'),
    ]).toEqual([true, true, true, false]);
    expect([at('10.9.9.9', 'a.corp.example'), at('10.9.9.9', 'corp.example'), at('10.9.9.9', 'xcorp.example')]).toEqual([
      true,
      false,
      false,
    ]);
    expect([at('10.9.9.9', 'db.internal', 5432), at('10.9.9.9', 'db.internal', 22)]).toEqual([true, false]);
  });
  it.each(['not a host', '10.0.0.0/99', 'http://x', 'a/8', ''])('reject an invalid entry: %j', (entry) => {
    expect(() => egressRules([entry])).toThrow();
  });

  it("keep Perdura's own ports shut, unless an entry names the port", () => {
    const own_ports = new Set([8233]);
    const at = (allow: string[], address: string, port: number) => egressRules(allow, own_ports)({ address, port });
    const mine = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    for (const address of ['127.0.0.1', '127.8.7.6', '::1', '0.0.0.0', '::ffff:127.0.0.1', ...mine.map((it) => it.address)]) {
      if (!address.includes('%')) expect(at(['0.0.0.0/0', '::/0'], address, 8233), address).toBe('own');
    }
    expect([at(['127.0.0.1'], '127.0.0.1', 8234), at(['127.0.0.1:8233'], '127.0.0.1', 8233)]).toEqual(['allowed', 'allowed']);
    expect([at([], '127.0.0.1', 8234), at(['10.0.0.0/8'], '10.255.255.1', 8233)]).toEqual(['denied', 'allowed']);
  });

  it('name the addresses to dial, so that nothing is resolved twice', async () => {
    const resolve = resolving('10.0.0.1', '1.1.1.1', '127.0.0.1', '2606:4700::1111');
    const found = await resolveAllowedAddresses({ hostname: 'mixed.example', port: 80 }, rules, resolve);
    expect(found.map(({ address }) => address)).toEqual(['1.1.1.1', '2606:4700::1111']);
    await expect(resolveAllowedAddresses({ hostname: '[::1]', port: 80 }, rules, resolve)).rejects.toThrow(
      'Connections to ::1 are not allowed from here',
    );
    await expect(resolveAllowedAddresses({ hostname: '', port: 80 }, rules, resolve)).rejects.toThrow('not allowed');
    const own = egressRules(['127.0.0.1'], new Set([80]));
    await expect(resolveAllowedAddresses({ hostname: 'localhost', port: 80 }, own, resolving('127.0.0.1'))).rejects.toThrow(
      'Connections to localhost:80 are not allowed from here: the port belongs to Perdura itself',
    );
  });
});

describe('dialling', () => {
  /** A server on one address of loopback, and the addresses that connections to it were made to. */
  async function listening(address: string, port = 0) {
    const reached: string[] = [];
    const server = createTcpServer((socket) => {
      reached.push(address);
      socket.destroy();
    }).listen(port, address);
    await once(server, 'listening');
    return { port: (server.address() as AddressInfo).port, reached, close: () => server.close() };
  }

  it.each([
    ['an address of the other family that nobody listens on', ['::1', '127.0.0.1']],
    ['several of the same family', ['127.0.0.3', '127.0.0.2', '127.0.0.1']],
    ['one that is not allowed', ['10.255.255.1', '127.0.0.1']],
  ])('comes past %s', async (_what, addresses) => {
    const server = await listening('127.0.0.1');
    const socket = await dialEgress({ hostname: 'some.example', port: server.port }, egressRules(['127.0.0.0/8', '::1']), {
      resolve: resolving(...addresses),
    });
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
    server.close();
  });

  it('reports the reason of each address that refuses', async () => {
    const open = egressRules(['127.0.0.0/8']);
    const server = await listening('127.0.0.1');
    server.close();
    const refused = dialEgress({ hostname: 'some.example', port: server.port }, open, {
      resolve: resolving('127.0.0.2', '127.0.0.3'),
    });
    await expect(refused).rejects.toMatchObject({
      code: 'ECONNREFUSED',
      message: `connect ECONNREFUSED 127.0.0.2:${server.port}; connect ECONNREFUSED 127.0.0.3:${server.port}`,
    });
  });

  it('finds the address that answers, for clients that dial themselves', async () => {
    const server = createTcpServer((socket) => socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const target = { hostname: 'name.example', port: (server.address() as AddressInfo).port };
    const rules = egressRules(['127.0.0.0/8']);
    expect(await findAnsweringAddress(target, rules, resolving('127.0.0.9', '127.0.0.1'))).toBe('127.0.0.1');
    // A single one is not tried: the client learns by itself that it does not answer.
    expect(await findAnsweringAddress(target, rules, resolving('127.0.0.9'))).toBe('127.0.0.9');
    server.close();
  });

  it('never tries an address that was not judged, or was denied', async () => {
    const server = await listening('127.0.0.1');
    const denied = await listening('127.0.0.2', server.port);
    const target = { hostname: 'localhost', port: server.port };
    const rules = egressRules(['127.0.0.3']);
    // The system would resolve localhost to 127.0.0.1, where somebody listens.
    const attempt = dialEgress(target, rules, { resolve: resolving('127.0.0.3', '127.0.0.2', '127.0.0.3') });
    await expect(attempt).rejects.toThrow('ECONNREFUSED');
    expect([...server.reached, ...denied.reached]).toEqual([]);
    server.close();
    denied.close();
  });
});

describe('the egress proxy', () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function origin(
    answer: (url: string, incoming: IncomingMessage) => { status: number; headers?: Record<string, string>; body?: string },
  ): Promise<number> {
    const server = createServer((incoming, outgoing) => {
      const { status, headers, body } = answer(incoming.url ?? '', incoming);
      outgoing.writeHead(status, headers ?? {}).end(body ?? JSON.stringify(incoming.headers));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  async function proxy(
    allow: string[],
    resolve?: (name: string) => Promise<{ address: string; family: number }[]>,
  ): Promise<EgressProxy> {
    const started = await startEgressProxy({ rules: egressRules(allow), ...(resolve ? { resolve } : {}) });
    closing.push(() => started.close());
    return started;
  }

  function ask(port: number, text: string): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1');
      let said = '';
      socket.setTimeout(2_000, () => socket.destroy());
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        said += chunk;
      });
      socket.on('close', () => resolve(said));
      socket.write(text);
    });
  }
  const auth = (token: string) => `Proxy-Authorization: Basic ${Buffer.from(`call:${token}`).toString('base64')}\r\n`;
  const get = (url: string, token: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\n${auth(token)}Connection: close\r\n\r\n`;

  it('passes plain requests on, without what was meant for itself', async () => {
    const port = await origin(() => ({ status: 200 }));
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const said = await ask(at, get(`http://127.0.0.1:${port}/path?x=1`, admit().token));
    expect(said).toContain('HTTP/1.1 200');
    expect(said).toContain(`"host":"127.0.0.1:${port}"`);
    expect(said).not.toContain('proxy-authorization');
  });

  it('opens tunnels', async () => {
    const port = await origin(() => ({ status: 200, body: 'inside' }));
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const said = await ask(at, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n${auth(admit().token)}\r\nGET / HTTP/1.0\r\n\r\n`);
    expect(said).toMatch(/^HTTP\/1.1 200 Connected\r\n\r\nHTTP\/1.1 200 OK[\s\S]*inside/);
  });

  it('passes method and body on, and the answer as it is', async () => {
    const port = await origin((_, incoming) => ({
      status: 418,
      headers: { 'x-answer': 'kept' },
      body: `${incoming.method} ${incoming.url} ${JSON.stringify(incoming.headers)}`,
    }));
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const fields = ['Connection: close', 'Proxy-Connection: keep-alive', 'TE: trailers', 'X-Own: kept', 'Content-Length: 3'];
    const said = await ask(
      at,
      `PUT http://127.0.0.1:${port}/a?b=c HTTP/1.1\r\nHost: other\r\n${auth(admit().token)}${fields.join('\r\n')}\r\n\r\nabc`,
    );
    expect(said).toContain('HTTP/1.1 418');
    expect(said).toMatch(/x-answer: kept/i);
    expect(said).toContain('PUT /a?b=c ');
    expect(said).toContain('"x-own":"kept"');
    expect(said).toContain('"content-length":"3"');
    expect(said).toContain(`"host":"127.0.0.1:${port}"`);
    expect(said).not.toMatch(/"(te|proxy-connection|proxy-authorization)":/);
  });

  it('passes on what was sent together with the request for a tunnel, and both directions after it', async () => {
    const server = createTcpServer((socket) => socket.on('data', (chunk) => socket.write(`<${chunk}>`))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const socket = connect(at, '127.0.0.1');
    const said: string[] = [];
    socket.setEncoding('utf8').on('data', (chunk: string) => said.push(chunk));
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n${auth(admit().token)}\r\nfirst`);
    await expect.poll(() => said.join('')).toBe('HTTP/1.1 200 Connected\r\n\r\n<first>');
    socket.write('second');
    await expect.poll(() => said.join('')).toContain('<first><second>');
    socket.destroy();
  });

  it('names the reason if nobody answers, and if the address is not allowed', async () => {
    const port = await origin(() => ({ status: 200 }));
    await closing.pop()?.();
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const { token } = admit();
    const tunnel = (target: string) => `CONNECT ${target} HTTP/1.1\r\n${auth(token)}\r\n`;
    for (const request of [get(`http://127.0.0.1:${port}/`, token), tunnel(`127.0.0.1:${port}`)])
      expect(await ask(at, request)).toMatch(/^HTTP\/1.1 502 The connection could not be made: ECONNREFUSED/);
    for (const request of [get('http://10.0.0.1/', token), tunnel('10.0.0.1:443')])
      expect(await ask(at, request)).toMatch(/^HTTP\/1.1 403 Connections to 10.0.0.1 are not allowed from here/);
    expect(await ask(at, get(`https://127.0.0.1:${port}/`, token))).toMatch(/^HTTP\/1.1 400 Only http:/);
  });

  it('holds 64 connections of one pass at a time, and those of another pass besides', async () => {
    // Answers as servers of HTTP/1.0 do, which leave the connection to the proxy as it is.
    const server = createTcpServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok')),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const say = async (socket: Socket, line: string, token: string) => {
      socket.write(`${line} HTTP/1.1\r\nHost: x\r\n${auth(token)}\r\n`);
      const [said] = await once(socket, 'data');
      return { socket, status: String(said).split(' ')[1] };
    };
    const dial = () => connect(at, '127.0.0.1').on('error', () => {});
    const open = (token: string) => say(dial(), `CONNECT 127.0.0.1:${port}`, token);
    const [one, other] = [admit(), admit()];
    const held = await Promise.all(Array.from({ length: 64 }, () => open(one.token)));
    expect(new Set(held.map(({ status }) => status))).toEqual(new Set(['200']));
    expect((await open(one.token)).status).toBe('429');
    expect(await ask(at, get(`http://127.0.0.1:${port}/`, one.token))).toContain('429 Too many connections at once');
    expect((await open(other.token)).status).toBe('200');
    held[0]?.socket.destroy();
    const again = await vi.waitUntil(async () => {
      const { socket, status } = await say(dial(), `GET http://127.0.0.1:${port}/`, one.token);
      return status === '200' && socket;
    });
    // The connection that asks once more is one of the 64.
    expect((await say(again, `GET http://127.0.0.1:${port}/`, one.token)).status).toBe('200');
    expect((await open(one.token)).status).toBe('429');
    one.revoke();
    other.revoke();
  });

  it('ends a plain request with its pass, and every connection when it closes', async () => {
    const hanging = createServer(() => {}).listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    closing.push(() => {
      hanging.closeAllConnections();
      hanging.close();
    });
    const { port } = hanging.address() as AddressInfo;
    const { port: at, admit, close } = await startEgressProxy({ rules: egressRules([`127.0.0.1:${port}`]) });
    const [first, second] = [admit(), admit()];
    const asking = [first, second].map(async ({ token }) => {
      const asked = once(hanging, 'request');
      const answer = ask(at, get(`http://127.0.0.1:${port}/`, token));
      await asked;
      return { answer };
    });
    const [one, other] = await Promise.all(asking);
    first.revoke();
    expect(await one?.answer).toBe('');
    await close();
    expect(await other?.answer).toBe('');
  });

  it('listens on a file that every user of the machine may open, and on no port', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdura-proxy-'));
    closing.push(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'proxy.sock');
    const started = await startEgressProxy({ rules: egressRules([]), path });
    closing.push(() => started.close());
    expect([started.port, statSync(path).mode & 0o777]).toEqual([0, 0o666]);
    const socket = connect(path);
    socket.write('CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n');
    expect(String((await once(socket, 'data'))[0])).toContain('407');
    socket.destroy();
  });

  it('refuses where a redirect leads, like any other request', async () => {
    const inner = await origin(() => ({ status: 200, body: 'inner' }));
    const outer = await origin(() => ({ status: 302, headers: { location: `http://127.0.0.1:${inner}/` } }));
    const { port: at, admit } = await proxy([`127.0.0.1:${outer}`]);
    const { token } = admit();
    expect(await ask(at, get(`http://127.0.0.1:${outer}/`, token))).toContain('302 Found');
    expect(await ask(at, get(`http://127.0.0.1:${inner}/`, token))).toContain(
      '403 Connections to 127.0.0.1 are not allowed from here',
    );
  });

  it('is not fooled by a name that changes its address', async () => {
    const port = await origin(() => ({ status: 200, body: 'rebound' }));
    let asked = 0;
    const { port: at, admit } = await proxy([], async () => [{ address: ++asked === 1 ? '192.0.2.1' : '127.0.0.1', family: 4 }]);
    expect(await ask(at, get(`http://rebind.example:${port}/`, admit().token))).toContain('403');
    expect(await ask(at, get(`http://rebind.example:${port}/`, admit().token))).toContain('403');
  });

  it('serves nobody without a pass, and nobody whose pass has ended', async () => {
    const port = await origin(() => ({ status: 200 }));
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const pass = admit();
    pass.revoke();
    for (const token of ['', 'guess', pass.token])
      expect(await ask(at, get(`http://127.0.0.1:${port}/`, token))).toContain('407');
    expect(await ask(at, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toContain('407');
  });

  it('opens sixty-four connections of a pass at once, and another one when one of them has ended', async () => {
    const port = await origin(() => ({ status: 200 }));
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const { token } = admit();
    const tunnel = async () => {
      const socket = connect(at, '127.0.0.1').on('error', () => {});
      closing.push(() => socket.destroy());
      socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n${auth(token)}\r\n`);
      const [said] = await once(socket, 'data');
      return { socket, status: String(said).split(' ')[1] };
    };
    const open = await Promise.all(Array.from({ length: 64 }, tunnel));
    expect(open.map(({ status }) => status)).toEqual(Array(64).fill('200'));
    expect((await tunnel()).status).toBe('429');
    expect(await ask(at, get(`http://127.0.0.1:${port}/`, token))).toContain('429');
    open[0]!.socket.destroy();
    await expect.poll(async () => (await tunnel()).status).toBe('200');
  });

  it('ends the connections of a pass with the pass', async () => {
    const port = await origin(() => ({ status: 200 }));
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const pass = admit();
    const socket = connect(at, '127.0.0.1');
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n${auth(pass.token)}\r\n`);
    const [said] = await once(socket, 'data');
    expect(String(said)).toContain('200 Connected');
    pass.revoke();
    await once(socket.resume(), 'close');
  });

  it.each([
    ['CONNECT / HTTP/1.1', 403],
    ['CONNECT :80 HTTP/1.1', 502],
    ['CONNECT 127.0.0.1:99999 HTTP/1.1', 502],
    ['GET / HTTP/1.1\r\nHost: x', 502],
    ['GET ftp://127.0.0.1/ HTTP/1.1\r\nHost: x', 400],
  ])('answers %j with %i', async (head, status) => {
    const { port: at, admit } = await proxy([]);
    expect(await ask(at, `${head}\r\n${auth(admit().token)}\r\n`)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it.each([
    ['ends early', 'content-length: 100\r\n\r\nhalf', 'aborted'],
    ['is not HTTP any more', 'transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n', 'socket hang up'],
  ])('breaks off an answer that %s', async (_what, rest, reason) => {
    const server = createTcpServer((socket) => socket.on('error', () => {}).end(`HTTP/1.1 200 OK\r\n${rest}`)).listen(
      0,
      '127.0.0.1',
    );
    closing.push(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { port: at, admit } = await proxy([`127.0.0.1:${port}`]);
    const [, authorization] = auth(admit().token).trim().split(': ');
    const headers = { 'proxy-authorization': authorization };
    const asked = request({ port: at, path: `http://127.0.0.1:${port}/`, headers }).end();
    await expect(once(asked, 'response').then(([answer]) => text(answer))).rejects.toThrow(reason);
  });

  it.each([
    ['a tunnel', (port: number) => `CONNECT origin.example:${port} HTTP/1.1\r\n`],
    ['a plain request', (port: number) => `GET http://origin.example:${port}/ HTTP/1.1\r\nHost: x\r\n`],
  ])('keeps no connection for a pass that has ended while %s was opened', async (_what, toHead) => {
    const server = createTcpServer().listen(0, '127.0.0.1');
    closing.push(() => server.close());
    await once(server, 'listening');
    const { port: to } = server.address() as AddressInfo;
    const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { port: at, admit } = await proxy([`127.0.0.1:${to}`], async () => {
      asked.resolve();
      await gone.promise;
      return [{ address: '127.0.0.1', family: 4 }];
    });
    const pass = admit();
    const said = ask(at, `${toHead(to)}${auth(pass.token)}\r\n`);
    await asked.promise;
    pass.revoke();
    expect(await said).toBe('');
    const connected = once(server, 'connection');
    gone.resolve();
    const [upstream] = await connected;
    await once(upstream.resume(), 'close');
  });

  it('gives no more of a failure than its code', async () => {
    const { port: at, admit } = await proxy([], async () => Promise.reject(new Error('a secret of the resolver')));
    const said = await ask(at, get('http://origin.example/', admit().token));
    expect(said).toMatch(/^HTTP\/1.1 502 [\s\S]*The connection could not be made: failed\r/);
    expect(said).not.toContain('secret');
  });

  it('ends a connection that does not speak HTTP', async () => {
    const { port: at } = await proxy([]);
    expect(await ask(at, '\0\0\0\r\n\r\n')).toBe('');
  });
});
