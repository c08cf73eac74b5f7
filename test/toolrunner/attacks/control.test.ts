import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, openBench } from '../support.ts';
import { type Host, openHost, sourceOf } from './host.ts';

describe('without confinement, the same attempts succeed, so their failure says something', () => {
  let host: Host;
  let bench: Bench;
  beforeAll(async () => {
    host = await openHost();
    bench = await openBench({ isolation: 'none', timeout_ms: 5_000 });
  });
  afterAll(async () => {
    await bench.runner.close();
    await host.close();
  });
  it.each([
    ['a private file', 'return open(h["files"][1]).read()'],
    ['the environment of a neighbour', 'return open(f"/proc/{h[\'neighbour\']}/environ").read()'],
    ['a service on loopback', 's = socket.create_connection(("127.0.0.1", h["port"]), 2); return s.recv(999).decode()'],
    ['a service on loopback over IPv6', 's = socket.create_connection(("::1", h["port6"]), 2); return s.recv(999).decode()'],
    [
      'a datagram service',
      's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.sendto(b"x", ("127.0.0.1", h["udp"])); return s.recv(99).decode()',
    ],
    ['a unix socket', 's = socket.socket(socket.AF_UNIX); s.connect(h["path"]); return s.recv(99).decode()'],
    [
      'an abstract unix socket',
      's = socket.socket(socket.AF_UNIX); s.connect("\\0" + h["abstract"]); return s.recv(99).decode()',
    ],
  ])('%s is reached', async (_, body) => {
    expect(await bench.value(sourceOf(body), { arguments: { h: host.facts } })).toContain(host.canary);
  });
});
