import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Somewhere a connection would go: the address that would be dialled, and what it was found by. */
interface EgressTarget {
  address: string;
  hostname?: string;
  port?: number;
}

/** `own`: the port is one of Perdura's own on this machine, which only an entry of the allow list with that very port opens. */
type Judgement = 'allowed' | 'denied' | 'own';

/** Whether a connection may be made. */
export type EgressRules = (target: EgressTarget) => Judgement;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Candidate = Omit<EgressTarget, 'address'> & { address: Address };

/** Everything else in IPv6 is not in use, or carries an IPv4 address inside. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Public addresses only, and what the allow list adds: addresses (`10.1.2.3`), ranges (`10.0.0.0/8`, `fd00::/8`), names
 * (`git.internal`) and everything below a name (`*.internal`), each optionally with a port (`10.1.2.3:8080`, `[::1]:80`).
 * Throws for an entry that is none of these.
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

/** Null for what is no plain address: short, octal and hexadecimal forms of IPv4 and zone ids included. A mapped IPv4 address is that IPv4 address. */
function parseAddress(address: string): Address | null {
  return isIP(address) !== 0 && !address.includes('%') ? ipaddr.process(address) : null;
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST);
}

function isThisMachine(address: Address): boolean {
  if (address.range() === 'loopback' || address.range() === 'unspecified') return true;
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return own.some((it) => parseAddress(it.address.replace(/%.*$/, ''))?.toString() === address.toString());
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
  const plain = /^([^:]+):(\d+)$/.exec(entry);
  const [, host = entry, port] = bracketed ?? plain ?? [];
  return { host, port: port === undefined ? undefined : Number(port) };
}

function matcher(host: string, entry: string): Entry['matches'] {
  const [address = '', prefix] = host.split('/');
  if (isIP(address)) return rangeMatcher(address, prefix, entry);
  const name = host.toLowerCase();
  if (!/^(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/.test(name) || prefix !== undefined)
    throw new Error(`"${entry}" is not an address, a range or a host name`);
  if (name.startsWith('*.')) return (target) => (target.hostname ?? '').toLowerCase().endsWith(name.slice(1));
  return (target) => target.hostname?.toLowerCase().replace(/\.$/, '') === name;
}

function rangeMatcher(address: string, prefix: string | undefined, entry: string): Entry['matches'] {
  const first = parseAddress(address);
  const unmapped = first?.kind() === 'ipv4' && isIP(address) === 6 ? 96 : 0;
  const most = first?.kind() === 'ipv6' ? 128 : 32;
  const bits = prefix === undefined ? most : Number(prefix) - unmapped;
  if (!first || !Number.isInteger(bits) || bits < 0 || bits > most || prefix === '')
    throw new Error(`"${entry}" is not an address, a range or a host name`);
  return (target) => target.address.kind() === first.kind() && (target.address as ipaddr.IPv4).match(first as ipaddr.IPv4, bits);
}
