import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** The target of a connection: the address to dial, and the name it was resolved from. */
interface EgressTarget {
  address: string;
  hostname?: string;
  port?: number;
}

/** `own`: one of Perdura's own ports on this machine; only an allow list entry with exactly that port opens it. */
type Judgement = 'allowed' | 'denied' | 'own';

/** Decides if a connection may be made. */
export type EgressRules = (target: EgressTarget) => Judgement;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Candidate = Omit<EgressTarget, 'address'> & { address: Address };

/** All other IPv6 ranges are unassigned or embed an IPv4 address. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Allows public addresses, and what the allow list adds: addresses (`10.1.2.3`), ranges (`10.0.0.0/8`, `fd00::/8`), names
 * (`git.internal`) and everything below a name (`*.internal`), each optionally with a port (`10.1.2.3:8080`, `[::1]:80`).
 * Throws for any other entry.
 */
export function egressRules(allow: readonly string[] = [], own_ports: ReadonlySet<number> = new Set()): EgressRules {
  const entries = allow.map(parseEntry);
  return ({ address, hostname, port }) => {
    const parsed = parseAddress(address);
    if (!parsed) return 'denied';
    const matching = entries.filter((entry) =>
      entry.matches({ address: parsed, ...(hostname && { hostname }), ...(port && { port }) }),
    );
    if (matching.some((entry) => entry.port !== undefined)) return 'allowed';
    if (port !== undefined && own_ports.has(port) && isThisMachine(parsed)) return 'own';
    return matching.length > 0 || isPublic(parsed) ? 'allowed' : 'denied';
  };
}

/**
 * Returns null for anything but a plain address, including short, octal and hex IPv4 forms and zone ids. Mapped IPv4 becomes
 * IPv4.
 */
function parseAddress(address: string): Address | null {
  if (isIP(address) === 0 || address.includes('%')) return null;
  // `::8.8.8.8` is another address than `8.8.8.8`, which the library takes it for; as `::808:808` it is not.
  return ipaddr.process(isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address);
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST);
}

function isThisMachine(address: Address): boolean {
  if (address.range() === 'loopback' || address.range() === 'unspecified') return true;
  const own = Object.values(networkInterfaces()).flatMap((list) => list!);
  return own.some((it) => parseAddress(it.address.split('%')[0]!)?.toString() === address.toString());
}

interface Entry {
  port: number | undefined;
  matches(target: Candidate): boolean;
}

function parseEntry(entry: string): Entry {
  const { host, port } = splitPort(entry.trim());
  const matches = matcher(host, entry);
  return { port, matches: (target) => (port === undefined || port === target.port) && matches(target) };
}

function splitPort(entry: string): { host: string; port: number | undefined } {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(entry);
  const host_and_port = /^([^:]+):(\d+)$/.exec(entry);
  const [, host = entry, port] = bracketed ?? host_and_port ?? [];
  return { host, port: port === undefined ? undefined : Number(port) };
}

function matcher(host: string, entry: string): Entry['matches'] {
  const [address = '', prefix] = host.split('/');
  if (isIP(address)) return rangeMatcher(address, prefix, entry);
  const name = host.toLowerCase();
  if (!/^(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/.test(name))
    throw new Error(`"${entry}" is not an address, a range or a host name`);
  if (name.startsWith('*.')) return (target) => (target.hostname ?? '').toLowerCase().endsWith(name.slice(1));
  return (target) => target.hostname?.toLowerCase().replace(/\.$/, '') === name;
}

function rangeMatcher(address: string, prefix: string | undefined, entry: string): Entry['matches'] {
  const first = parseAddress(address);
  const prefix_offset = first?.kind() === 'ipv4' && isIP(address) === 6 ? 96 : 0;
  const most = first?.kind() === 'ipv6' ? 128 : 32;
  const bits = prefix === undefined ? most : Number(prefix) - prefix_offset;
  if (!first || !Number.isInteger(bits) || bits < 0 || bits > most || prefix === '')
    throw new Error(`"${entry}" is not an address, a range or a host name`);
  return (target) => target.address.kind() === first.kind() && (target.address as ipaddr.IPv4).match(first as ipaddr.IPv4, bits);
}
