import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, isIPv6, type Socket } from 'node:net';
import type { EgressRules } from './rules.ts';

export interface DialTarget {
  hostname: string;
  port: number;
}

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Thrown for a denied address. The message is for users: it names the requested host and none of its resolved addresses. */
export class EgressDenied extends Error {}

interface DialOptions {
  resolve?: Resolve | undefined;
  timeout_ms?: number;
}

const TIMEOUT_MS = 10_000;
/** How long one address may take before the next is tried; the last one gets the remaining time. */
const ATTEMPT_MS = 500;

/**
 * Returns the allowed addresses of a name, in the resolver's order. Throws `EgressDenied` if there is none, or the resolver's
 * error.
 */
export async function resolveAllowedAddresses(
  target: DialTarget,
  rules: EgressRules,
  resolve: Resolve = lookupAll,
): Promise<LookupAddress[]> {
  const { port } = target;
  const hostname = target.hostname.replace(/^\[(.*)\]$/, '$1');
  if (hostname === '') throw new EgressDenied('Connections to nowhere are not allowed from here');
  const addresses = isIP(hostname) ? [{ address: hostname, family: isIPv6(hostname) ? 6 : 4 }] : await resolve(hostname);
  const checked_addresses = addresses.map((it) => ({ ...it, judgement: rules({ address: it.address, hostname, port }) }));
  const allowed_addresses = checked_addresses.filter(({ judgement }) => judgement === 'allowed');
  if (allowed_addresses.length > 0) return allowed_addresses.map(({ address, family }) => ({ address, family }));
  if (checked_addresses.some(({ judgement }) => judgement === 'own'))
    throw new EgressDenied(
      `Connections to ${hostname}:${port} are not allowed from here: the port belongs to Perdura itself. EGRESS_ALLOW can open it by address and port`,
    );
  throw new EgressDenied(`Connections to ${hostname} are not allowed from here`);
}

/**
 * The only way to dial an address that users may set: resolves the name once, checks each address against the rules and tries the
 * allowed ones in turn. Throws `EgressDenied`, or the reason why none of them answered.
 */
export async function dialEgress(
  target: DialTarget,
  rules: EgressRules,
  { resolve, timeout_ms = TIMEOUT_MS }: DialOptions = {},
): Promise<Socket> {
  const addresses = await resolveAllowedAddresses(target, rules, resolve);
  const [first] = addresses as [LookupAddress];
  const socket = connect({
    // Node gets an already checked address, so it resolves nothing itself.
    host: addresses.length === 1 ? first.address : target.hostname,
    port: target.port,
    lookup: (_hostname, _options, done) => done(null, addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
  });
  const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${timeout_ms / 1000} s`)), timeout_ms);
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    socket.destroy();
    throw error instanceof AggregateError ? toSingleError(error) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the first allowed address of a name that accepts a connection, for clients that dial themselves. */
export async function findAnsweringAddress(target: DialTarget, rules: EgressRules, resolve?: Resolve): Promise<string> {
  const addresses = await resolveAllowedAddresses(target, rules, resolve);
  if (addresses.length === 1) return addresses[0]!.address;
  const socket = await dialEgress(target, rules, { resolve: async () => addresses });
  const address = socket.remoteAddress;
  socket.destroy();
  return address ?? addresses[0]!.address;
}

/** Node's AggregateError has no message. */
function toSingleError({ errors, ...facts }: AggregateError): Error {
  const message = errors.map((error: Error) => error.message).join('; ');
  return Object.assign(new Error(message), { code: (facts as { code?: string }).code });
}

function lookupAll(hostname: string): Promise<LookupAddress[]> {
  return lookup(hostname, { all: true });
}
