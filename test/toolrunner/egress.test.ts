import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type EgressProxy, startEgressProxy } from '../../src/toolrunner/egress-proxy.ts';
import { egressRules, resolveEgress } from '../../src/toolrunner/egress-rules.ts';

describe('egress rules', () => {
  const rules = egressRules();
  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.18.0.1',
  ])('refuse %s', (address) => {
    expect(rules({ address })).toBe(false);
  });
  it.each([
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    'fc00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:10.0.0.1',
    '::ffff:a00:1',
    '64:ff9b::7f00:1',
    '64:ff9b::a9fe:a9fe',
    '2002:7f00:1::',
    '2001:0:1::',
    '::127.0.0.1',
    'fec0::1',
    'fe80::1%eth0',
    '2001:db8::1',
  ])('refuse %s', (address) => {
    expect(rules({ address })).toBe(false);
  });
  it.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:1.1.1.1', '::ffff:101:101'])('allow %s', (address) => {
    expect(rules({ address })).toBe(true);
  });
  it.each(['', 'localhost', '1.2.3', '999.1.1.1', '0x7f000001'])('refuse %j, which is no address', (address) => {
    expect(rules({ address })).toBe(false);
  });

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
      own({ address, ...(hostname ? { hostname } : {}), ...(port ? { port } : {}) });
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
  it.each(['not a host', '10.0.0.0/99', 'http://x', 'a/8', ''])('say so when an entry is none: %j', (entry) => {
    expect(() => egressRules([entry])).toThrow();
  });

  it('give the address to dial, so that nothing is resolved twice', async () => {
    const resolve = async () => [
      { address: '10.0.0.1', family: 4 },
      { address: '1.1.1.1', family: 4 },
    ];
    expect(await resolveEgress({ hostname: 'mixed.example', port: 80 }, rules, resolve)).toBe('1.1.1.1');
    await expect(resolveEgress({ hostname: '[::1]', port: 80 }, rules, resolve)).rejects.toThrow(
      'Connections to ::1 are not allowed from here',
    );
    await expect(resolveEgress({ hostname: '', port: 80 }, rules, resolve)).rejects.toThrow('not allowed');
  });
});

describe('the egress proxy', () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function origin(
    answer: (url: string) => { status: number; headers?: Record<string, string>; body?: string },
  ): Promise<number> {
    const server = createServer((incoming, outgoing) => {
      const { status, headers, body } = answer(incoming.url ?? '');
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
    'CONNECT / HTTP/1.1\r\nAUTH\r\n',
    'CONNECT :80 HTTP/1.1\r\nAUTH\r\n',
    'CONNECT 127.0.0.1:99999 HTTP/1.1\r\nAUTH\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nAUTH\r\n',
    'GET ftp://127.0.0.1/ HTTP/1.1\r\nHost: x\r\nAUTH\r\n',
    '\0\0\0',
  ])('answers %j with a refusal', async (text) => {
    const { port: at, admit } = await proxy([]);
    expect(await ask(at, text.replace('AUTH', auth(admit().token).trim()))).not.toMatch(/^HTTP\/1.1 2/);
  });
});
