import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { overLimit } from '../../domain/errors.ts';

/** Counts failed sign-ins by client address. */
export interface SignIns {
  /** Refuses with 429 after too many failures. This attempt counts as failed until its result is known. */
  attempt(address: string): void;
  /** Removes one attempt from the count: it succeeded, or no provider was reachable. */
  forgive(address: string): void;
}

const WINDOW_MS = 60_000;
const MOST_KEPT = 50_000;

interface Count {
  failed: number;
  until: number;
}

export function createSignIns(most: number, now: () => number = () => performance.now()): SignIns {
  const counts = new LRUCache<string, Count>({ max: MOST_KEPT });
  const getCount = (address: string): Count => {
    const key = toNetwork(address);
    const current = counts.get(key);
    if (current && current.until > now()) return current;
    const new_count = { failed: 0, until: now() + WINDOW_MS };
    counts.set(key, new_count);
    return new_count;
  };
  return {
    attempt(address) {
      const count = getCount(address);
      if (count.failed >= most) {
        const message = `${most} attempts to sign in from your address failed within a minute (SIGN_IN_FAILURES_PER_MINUTE)`;
        const retry_after_s = Math.max(1, (count.until - now()) / 1_000);
        throw overLimit(`${message}; wait as long as Retry-After says`, { code: 'sign_in_limit', retry_after_s });
      }
      count.failed += 1;
    },
    forgive(address) {
      const count = getCount(address);
      count.failed = Math.max(0, count.failed - 1);
    },
  };
}

/** Returns the network to count for an address: an IPv6 client usually controls a whole /64. */
function toNetwork(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const parts = head.split(':').filter(Boolean);
  const rest = tail.split(':').filter(Boolean);
  const zeros = Array<string>(Math.max(0, 8 - parts.length - rest.length)).fill('0');
  return [...parts, ...zeros, ...rest].slice(0, 4).join(':');
}
