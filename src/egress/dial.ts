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

/** The message is for users; it names the host as it was asked for, and no address it resolved to. */
export class EgressDenied extends Error {}

interface DialOptions {
  resolve?: Resolve | undefined;
  timeout_ms?: number;
}

const TIMEOUT_MS = 10_000;
/** How long one address may take before the next is tried; the last has all the time there is. */
const ATTEMPT_MS = 500;

/** Every address of a name that may be dialled, in the resolver's order. Throws `EgressDenied` when there is none, or the resolver's error. */
export async function judgedAddresses(
  target: DialTarget,
  rules: EgressRules,
  resolve: Resolve = lookupAll,
): Promise<LookupAddress[]> {
  const { port } = target;
  const hostname = target.hostname.replace(/^\[(.*)\]$/, '$1');
  if (hostname === '') throw new EgressDenied('Connections to nowhere are not allowed from here');
  const found = isIP(hostname) ? [{ address: hostname, family: isIPv6(hostname) ? 6 : 4 }] : await resolve(hostname);
  const judged = found.map((it) => ({ ...it, judgement: rules({ address: it.address, hostname, port }) }));
  const allowed = judged.filter(({ judgement }) => judgement === 'allowed');
  if (allowed.length > 0) return allowed.map(({ address, family }) => ({ address, family }));
  if (judged.some(({ judgement }) => judgement === 'own'))
    throw new EgressDenied(
      `Connections to ${hostname}:${port} are not allowed from here: the port belongs to Perdura itself. EGRESS_ALLOW can open it by address and port`,
    );
  throw new EgressDenied(`Connections to ${hostname} are not allowed from here`);
}

/**
 * The one way to a place that users may name: the name is resolved once, each address is judged, and those that may be dialled are
 * tried in turn. Throws `EgressDenied`, or the reason why none of them answered.
 */
export async function dialEgress(
  target: DialTarget,
  rules: EgressRules,
  { resolve, timeout_ms = TIMEOUT_MS }: DialOptions = {},
): Promise<Socket> {
  const addresses = await judgedAddresses(target, rules, resolve);
  const [first] = addresses as [LookupAddress];
  const socket = connect({
    // With an address Node looks nothing up; with a name it takes what was judged, and resolves nothing itself.
    host: addresses.length === 1 ? first.address : target.hostname,
    port: target.port,
    lookup: (_hostname, { all }, done) => (all ? done(null, addresses) : done(null, first.address, first.family)),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
  });
  const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${timeout_ms / 1000} s`)), timeout_ms);
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    socket.destroy();
    throw error instanceof AggregateError ? namedFailure(error) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** For clients that dial themselves: the first address of a name that may be dialled and takes a connection. */
export async function answeringAddress(target: DialTarget, rules: EgressRules): Promise<string> {
  const addresses = await judgedAddresses(target, rules);
  if (addresses.length === 1) return addresses[0]!.address;
  const socket = await dialEgress(target, rules, { resolve: async () => addresses });
  const address = socket.remoteAddress;
  socket.destroy();
  return address ?? addresses[0]!.address;
}

/** Node gives no message to the failure of several attempts. */
function namedFailure({ errors, ...facts }: AggregateError): Error {
  const message = errors.map((error: Error) => error.message).join('; ');
  return Object.assign(new Error(message), { code: (facts as { code?: string }).code ?? errors[0]?.code });
}

function lookupAll(hostname: string): Promise<LookupAddress[]> {
  return lookup(hostname, { all: true });
}
