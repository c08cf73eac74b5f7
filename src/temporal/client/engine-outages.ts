import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import type { Outage } from '../../domain/outages.ts';

const createUnavailable = (sentence: string): Outage => ({ code: 'engine_unavailable', sentence });

const UNREACHABLE = createUnavailable('The workflow engine is unreachable (TEMPORAL_ADDRESS)');

/** The description of an outage of the engine, by gRPC status. */
const SENTENCES: Record<number, Outage> = {
  1: UNREACHABLE,
  /** Either side may be overloaded, or the client tried to reach the engine until the deadline. */
  4: createUnavailable('The workflow engine did not answer in time (TEMPORAL_ADDRESS)'),
  7: createUnavailable('The workflow engine refuses this account (TEMPORAL_API_KEY, or the certificate of TEMPORAL_TLS_*)'),
  8: createUnavailable('The workflow engine has more requests than it can serve'),
  12: createUnavailable('What answers at TEMPORAL_ADDRESS is not a workflow engine of a supported version'),
  14: UNREACHABLE,
  16: createUnavailable('The workflow engine refuses the credentials of TEMPORAL_API_KEY or TEMPORAL_TLS_*'),
};

/**
 * The statuses with which a working engine rejects a request: it is not valid, or the execution does not exist, exists already,
 * is not in the right state, or ends before the requested page.
 */
const REFUSALS = new Set([3, 5, 6, 9, 11]);

const LOST = createUnavailable(
  'The workflow engine has lost its namespace or search attributes; a worker creates them within seconds',
);
/** The error of an engine that was emptied; Temporal reports it as an invalid request. */
const NO_ATTRIBUTE = /search attribute \S+ is not defined|no mapping defined for search attribute/i;
const TLS = /certificate|self.signed|CERT_|SSL|TLS/i;

/**
 * Returns the outage that an error of the client reports; null if the engine works and rejected the request, or if our code
 * failed.
 */
export function engineOutage(error: unknown): Outage | null {
  if (error instanceof NamespaceNotFoundError) return LOST;
  const inner = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  if (!isGrpcServiceError(inner)) return null;
  if (NO_ATTRIBUTE.test(inner.details)) return LOST;
  if (REFUSALS.has(inner.code)) return null;
  const outage =
    SENTENCES[inner.code] ??
    createUnavailable(`The workflow engine cannot serve now (gRPC status ${inner.code} from TEMPORAL_ADDRESS)`);
  return outage === UNREACHABLE && TLS.test(inner.details) ? insecure(inner.details) : outage;
}

const insecure = (details: string): Outage =>
  createUnavailable(`The workflow engine's certificate is not trusted, or it offers no TLS (TEMPORAL_TLS_*): ${details}`);
