import { useQuery } from '@tanstack/react-query';
import type { z } from 'zod';
import { health, type Readiness } from '../../contracts/health.ts';
import { sentence } from '../ui/sentence.ts';

type ReadinessFacts = z.output<typeof Readiness>;

/** How often a ready service is asked, and one in trouble. */
const EVERY_MS = { ready: 60_000, trouble: 10_000 };

/** Reads the readiness, which needs no token. A service that is not ready returns 503 with the same facts. */
export async function readReadiness(signal: AbortSignal): Promise<ReadinessFacts> {
  const response = await fetch(health.ready.path, { signal });
  const body = await response.json();
  if (typeof body.checks !== 'object') throw new Error(`The service returned ${response.status}`);
  return body;
}

/** Polls the readiness. */
export function useReadiness() {
  return useQuery<ReadinessFacts, Error>({
    queryKey: [health.ready.operation],
    queryFn: ({ signal }) => readReadiness(signal),
    refetchInterval: ({ state: { data, error } }) =>
      summarizeReadiness(data, error).trouble ? EVERY_MS.trouble : EVERY_MS.ready,
    retry: false,
  });
}

export function summarizeReadiness(data: ReadinessFacts | undefined, error: Error | null) {
  const isolation = data?.tool_isolation ?? null;
  if (error) return { isolation, trouble: 'It is unreachable. Check that it is running. This page keeps trying.' };
  const failing = Object.entries(data?.checks ?? {}).filter(([, { ok }]) => !ok);
  const trouble = failing.map(([name, { detail }]) => sentence(`${name}: ${detail}`)).join(' ');
  return { isolation, trouble: trouble || null };
}
