import { AsyncLocalStorage } from 'node:async_hooks';
import { type Redactor, redactor } from '../domain/redaction.ts';
import type { InstallationSettings } from '../main/core.ts';

/**
 * The secrets that a piece of work has opened: a run's step, a request. The key ring reports each one it opens, and whatever
 * comes back from a target is passed through `redact` before it is stored, sent, logged or thrown.
 */
export interface SecretScope {
  /** Told of a secret that was opened. */
  hear(value: string): void;
  /** Takes out what the current work has opened, and what the installation itself holds. */
  readonly redact: Redactor;
  /** A redactor that knows the installation's secrets, to be filled by work. */
  book(): Redactor;
  /** Does work whose secrets are noted in `book`. */
  within<T>(book: Redactor, work: () => T): T;
  /** Does work of its own kind; an error that leaves it holds no secret. */
  fresh<T>(work: () => Promise<T>): Promise<T>;
}

export function secretScope(installation: readonly string[]): SecretScope {
  const ours = redactor(installation);
  const current = new AsyncLocalStorage<Redactor>();
  const book = () => redactor([], ours);
  const within = <T>(known: Redactor, work: () => T): T => current.run(known, work);
  return {
    hear: (value) => current.getStore()?.know(value),
    get redact() {
      return current.getStore() ?? ours;
    },
    book,
    within,
    fresh: (work) => {
      const known = book();
      return within(known, work).catch((error: unknown) => Promise.reject(known.error(error)));
    },
  };
}

/** The operator's own: long enough that they are never an ordinary word. */
const SHORTEST = 12;

/** What the installation holds itself and sends to nobody but its own servers. */
export function secretsOfInstallation({ config, encryption_keys, webhook_secret, embeddings }: InstallationSettings): string[] {
  const values = [
    ...encryption_keys.split(',').map((entry) => entry.split(':')[1]),
    webhook_secret,
    webhook_secret.replace(/^whsec_/, ''),
    embeddings?.api_key,
    config.METRICS_TOKEN,
    config.OPENAI_API_KEY,
  ];
  return values.filter((value) => typeof value === 'string').filter((value) => value.length >= SHORTEST);
}
