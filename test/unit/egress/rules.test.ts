import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { egressRules } from '../../../src/egress/rules.ts';

const judge = (
  address: string,
  { allow = [] as string[], hostname = undefined as string | undefined, port = 443, own = [] as number[] } = {},
) => egressRules(allow, new Set(own))({ address, port, ...(hostname && { hostname }) });

/** The first and last address of each range of the IANA registries that is not the public internet. */
const RESERVED: Record<string, string[]> = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  'carrier-grade NAT': ['100.64.0.0', '100.127.255.255'],
  loopback: ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  'link-local, with the metadata services of clouds': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'protocol assignments': ['192.0.0.0', '192.0.0.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1'],
  benchmarks: ['198.18.0.0', '198.19.255.255'],
  multicast: ['224.0.0.0', '239.255.255.255'],
  'future use': ['240.0.0.0', '255.255.255.254'],
  broadcast: ['255.255.255.255'],
  'IPv6 unspecified and loopback': ['::', '::1'],
  'IPv6 unique local': ['fc00::', 'fd00::1', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6 link-local': ['fe80::1', 'febf:ffff::1'],
  'IPv6 site-local, formerly': ['fec0::1'],
  'IPv6 multicast': ['ff00::', 'ff02::1'],
  'IPv6 documentation': ['2001:db8::1'],
  'IPv6 discard': ['100::1'],
  'IPv4 mapped': ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:169.254.169.254'],
  'IPv4 compatible': ['::127.0.0.1', '::8.8.8.8', '::808:808'],
  'IPv4 translated': ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1', '::ffff:0:127.0.0.1'],
  '6to4 and Teredo': ['2002:7f00:1::1', '2002:808:808::1', '2001::1', '2001:0:7f00:1::1'],
  'IPv6 unassigned': ['4000::1', '8000::1', 'c000::1', '1fff::1'],
};

const PUBLIC = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0'],
  ...['126.255.255.255', '128.0.0.0', '169.253.255.255', '169.255.0.0', '192.167.255.255', '192.169.0.0', '198.17.255.255'],
  ...['198.20.0.0', '223.255.255.255', '::ffff:8.8.8.8', '2606:4700::1111', '2a00:1450::1'],
];

describe('an address', () => {
  it.each(Object.entries(RESERVED).flatMap(([range, list]) => list.map((address) => [range, address])))(
    'of %s is denied: %s',
    (_, address) => {
      expect(judge(address)).toBe('denied');
    },
  );

  it.each(PUBLIC)('of the public internet is allowed: %s', (address) => {
    expect(judge(address)).toBe('allowed');
  });

  it.each([
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    'fe80::1%lo',
    '8.8.8.8%1',
    '2606:4700::1111%eth0',
    'localhost',
    '',
    '8.8.8.8 ',
  ])('in no plain form is denied, even if the list would allow it: %j', (address) => {
    expect(judge(address, { allow: ['0.0.0.0/0', '::/0', 'fe80::1'] })).toBe('denied');
  });
});

describe('the allow list', () => {
  it.each<[string, string, { hostname?: string; port?: number }, boolean]>([
    ['10.1.2.3', '10.1.2.3', {}, true],
    ['10.1.2.3', '10.1.2.4', {}, false],
    [' 10.1.2.3 ', '10.1.2.3', {}, true],
    ['10.0.0.0/8', '10.255.255.255', {}, true],
    ['172.16.0.0/12', '172.16.9.9', {}, true],
    ['172.16.0.0/16', '172.17.0.0', {}, false],
    ['0.0.0.0/0', '127.0.0.1', {}, true],
    ['0.0.0.0/0', '::1', {}, false],
    ['::/0', '::1', {}, true],
    ['::/0', '127.0.0.1', {}, false],
    ['fd00::/8', 'fd12::1', {}, true],
    ['fd00::/8', 'fc12::1', {}, false],
    ['fd00::1/128', 'fd00::1', {}, true],
    ['fd00::1', 'fd00::2', {}, false],
    ['fd00::1:80', 'fd00::1:80', {}, true],
    ['::ffff:10.0.0.0/104', '10.9.9.9', {}, true],
    ['::ffff:10.0.0.1', '10.0.0.1', {}, true],
    ['10.0.0.1', '::ffff:10.0.0.1', {}, true],
    ['10.0.0.1/32', '10.0.0.2', {}, false],
    ['10.0.0.1:8080', '10.0.0.1', { port: 8080 }, true],
    ['10.0.0.1:8080', '10.0.0.1', { port: 8081 }, false],
    ['10.0.0.0/8:8080', '10.9.9.9', { port: 8080 }, true],
    ['[::1]:80', '::1', { port: 80 }, true],
    ['[::1]:80', '::1', { port: 81 }, false],
    ['[::1]', '::1', { port: 81 }, true],
    ['git.internal', '10.0.0.1', { hostname: 'git.internal' }, true],
    ['git.internal', '10.0.0.1', { hostname: 'GIT.Internal.' }, true],
    ['GIT.internal', '10.0.0.1', { hostname: 'git.internal' }, true],
    ['git.internal', '10.0.0.1', { hostname: 'a.git.internal' }, false],
    ['git.internal', '10.0.0.1', { hostname: 'xgit.internal' }, false],
    ['git.internal', '10.0.0.1', {}, false],
    ['git.internal:22', '10.0.0.1', { hostname: 'git.internal', port: 22 }, true],
    ['git.internal:22', '10.0.0.1', { hostname: 'git.internal', port: 443 }, false],
    ['*.internal', '10.0.0.1', { hostname: 'a.b.Internal' }, true],
    ['*.internal', '10.0.0.1', { hostname: 'internal' }, false],
    ['*.internal', '10.0.0.1', { hostname: 'xinternal' }, false],
    ['*.internal', '10.0.0.1', {}, false],
    ['*.internal:80', '10.0.0.1', { hostname: 'a.internal', port: 81 }, false],
    ['a_b-c.d9', '10.0.0.1', { hostname: 'a_b-c.d9' }, true],
    ['_a', '10.0.0.1', { hostname: '_a' }, true],
    ['x', '10.0.0.1', { hostname: 'x' }, true],
  ])('%s for %s %j', (entry, address, target, allowed) => {
    expect(judge(address, { allow: [entry], ...target })).toBe(allowed ? 'allowed' : 'denied');
  });

  it('works by any of its entries', () => {
    expect(judge('10.0.0.2', { allow: ['10.0.0.1', '10.0.0.2'] })).toBe('allowed');
  });

  it.each([
    ...['', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', '10.0.0.0/-1', '10.0.0.0/1.5', '::/129', '::ffff:10.0.0.0/95', 'a/8'],
    ...[
      'a b',
      '-a',
      'a-',
      'a.',
      '.a',
      '*',
      '*a',
      '**.a',
      '*.',
      'a*',
      'http://a',
      'fe80::1%lo',
      'a:b',
      '[::1',
      'x[::1]:80',
      '[::1]:80x',
      'a:80x',
      'a:',
    ],
    'ä',
  ])('refuses the entry %j', (entry) => {
    expect(() => egressRules([entry])).toThrow(new Error(`"${entry}" is not an address, a range or a host name`));
  });
});

describe("a port of Perdura's own", () => {
  const mine = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .map(({ address }) => address.replace(/%.*/, ''));

  it.each([...new Set([...mine, '127.0.0.1', '127.9.9.9', '::1', '0.0.0.0', '::', '::ffff:127.0.0.1'])])(
    'is closed on %s unless an entry names exactly this port',
    (address) => {
      const at = (...allow: string[]) => judge(address, { allow, own: [5432], port: 5432, hostname: 'here' });
      const written = address.includes(':') ? `[${address}]` : address;
      expect(at()).toBe('own');
      expect(at(address, 'here', '0.0.0.0/0', '::/0')).toBe('own');
      expect(at(`${written}:5433`)).toBe('own');
      expect(at(`${written}:5432`)).toBe('allowed');
      expect(at('here:5432')).toBe('allowed');
    },
  );

  it('is open elsewhere, and others are open here', () => {
    expect(judge('8.8.8.8', { own: [5432], port: 5432 })).toBe('allowed');
    expect(judge('10.255.1.2', { own: [5432], port: 5432 })).toBe('denied');
    expect(judge('127.0.0.1', { own: [5432], port: 5433 })).toBe('denied');
    expect(judge('127.0.0.1', { own: [5432], port: 5433, allow: ['127.0.0.1'] })).toBe('allowed');
    expect(egressRules(['127.0.0.1'], new Set([5432]))({ address: '127.0.0.1' })).toBe('allowed');
    expect(egressRules()({ address: '127.0.0.1', port: 1 })).toBe('denied');
  });
});
