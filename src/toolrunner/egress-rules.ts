import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Somewhere a connection would go: the address that would be dialled, and what it was found by. */
export interface EgressTarget {
  address: string;
  hostname?: string;
  port?: number;
}

/** Whether a connection may be made. */
export type EgressRules = (target: EgressTarget) => boolean;

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** The message is for users; it names the host as it was asked for, and no address it resolved to. */
export class EgressDenied extends Error {}

const NOT_PUBLIC_V4 = [
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24',
  '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24',
  '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
]; // biome-ignore format: a table
/** Among them every range that carries an IPv4 address inside: mapped, translated (NAT64), 6to4, Teredo. */
const NOT_PUBLIC_V6 = [
  '::/96', '::ffff:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '100:0:0:1::/64', '2001::/23', '2001:db8::/32', '2002::/16',
  '2620:4f:8000::/48', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8',
]; // biome-ignore format: a table

/**
 * Public addresses only, and what the allow list adds: addresses (`10.1.2.3`), ranges (`10.0.0.0/8`, `fd00::/8`), names
 * (`git.internal`) and everything below a name (`*.internal`), each optionally with a port (`10.1.2.3:8080`, `[::1]:80`).
 * Throws for an entry that is none of these.
 */
export function egressRules(allow: readonly string[] = []): EgressRules {
  // Apart, because a list compares an IPv4 address with IPv6 ranges by its mapped form.
  const denied = { 4: listOf(NOT_PUBLIC_V4), 6: listOf(NOT_PUBLIC_V6) };
  const allowed = allow.map(parseEntry);
  return ({ address, hostname, port }) => {
    const plain = unmapped(address);
    const family = isIP(plain);
    if ((family !== 4 && family !== 6) || plain.includes('%')) return false;
    if (allowed.some((entry) => entry({ address: plain, hostname, port }))) return true;
    return !denied[family].check(plain, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/** The address to dial, so that nothing is resolved a second time. Throws `EgressDenied`, or the resolver's error. */
export async function resolveEgress(
  target: { hostname: string; port: number },
  rules: EgressRules,
  resolve: Resolve = lookupAll,
): Promise<string> {
  const hostname = target.hostname.replace(/^\[(.*)\]$/, '$1');
  if (hostname === '') throw new EgressDenied('Connections to nowhere are not allowed from here');
  const found = isIP(hostname) ? [{ address: hostname }] : await resolve(hostname);
  const permitted = found.find(({ address }) => rules({ address, hostname, port: target.port }));
  if (!permitted) throw new EgressDenied(`Connections to ${hostname} are not allowed from here`);
  return permitted.address;
}

function lookupAll(hostname: string): Promise<LookupAddress[]> {
  return lookup(hostname, { all: true });
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    list.addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** `::ffff:10.0.0.1` and its hexadecimal spelling are the IPv4 address to the kernel, so they are to the rules. */
function unmapped(address: string): string {
  if (!/^[0:]*:ffff:/i.test(address) || !isIPv6(address)) return address;
  const compact = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(compact) ?? [];
  if (high === undefined || low === undefined) return address;
  const number = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');
}

function parseEntry(entry: string): EgressRules {
  const { host, port } = splitPort(entry.trim());
  const matches = matcher(host, entry);
  return (target) => (port === undefined || port === target.port) && matches(target);
}

function splitPort(entry: string): { host: string; port?: number } {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(entry);
  const plain = /^([^:]+):(\d+)$/.exec(entry);
  const [, host, port] = bracketed ?? plain ?? [];
  if (host === undefined) return { host: entry };
  return { host, ...(port === undefined ? {} : { port: Number(port) }) };
}

function matcher(host: string, entry: string): EgressRules {
  const [address = '', prefix] = host.split('/');
  const family = isIP(address);
  if (family !== 0) {
    const bits = prefix === undefined ? (family === 6 ? 128 : 32) : Number(prefix);
    const list = listOf([`${unmapped(address)}/${bits}`]);
    return (target) => list.check(target.address, isIPv6(target.address) ? 'ipv6' : 'ipv4');
  }
  const name = host.toLowerCase();
  if (!/^(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/.test(name) || prefix !== undefined)
    throw new Error(`"${entry}" is not an address, a range or a host name`);
  if (name.startsWith('*.')) return (target) => (target.hostname ?? '').toLowerCase().endsWith(name.slice(1));
  return (target) => target.hostname?.toLowerCase().replace(/\.$/, '') === name;
}
