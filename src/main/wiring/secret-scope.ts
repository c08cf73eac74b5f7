import { AsyncLocalStorage } from 'node:async_hooks';
import { type Redactor, redactor } from '../../domain/redaction.ts';
import type { InstallationSettings } from '../installation-settings.ts';

/**
 * Tracks the secrets that a piece of work (a run's step, a request) has opened. The key ring reports each opened secret;
 * whatever a target returns passes through `redact` before it is stored, sent, logged or thrown.
 */
export interface SecretScope {
  /** Records an opened secret. */
  recordSecret(value: string): void;
  /** Redacts the secrets that the current work has opened, and the installation's own. */
  readonly redact: Redactor;
  /** Creates a redactor that starts with the installation's secrets; work adds the ones it opens. */
  openRedactor(): Redactor;
  /** Does work and records the secrets it opens in `scope`. */
  runInScope<T>(scope: Redactor, work: () => T): T;
  /** Does work in a new scope; an error thrown by it is redacted. */
  runInNewScope<T>(work: () => Promise<T>): Promise<T>;
}

export function createSecretScope(installation: readonly string[]): SecretScope {
  const ours = redactor(installation);
  const current = new AsyncLocalStorage<Redactor>();
  const openRedactor = () => redactor([], ours);
  const runInScope = <T>(scope_redactor: Redactor, work: () => T): T => current.run(scope_redactor, work);
  return {
    recordSecret: (value) => current.getStore()?.know(value),
    get redact() {
      return current.getStore() ?? ours;
    },
    openRedactor: openRedactor,
    runInScope: runInScope,
    runInNewScope: (work) => {
      const scope = openRedactor();
      return runInScope(scope, work).catch((error: unknown) => Promise.reject(scope.error(error)));
    },
  };
}

/** The shortest operator's secret to redact: long enough not to match an ordinary word. */
const SHORTEST = 12;

/** Lists the secrets of the installation, which it sends only to its own servers. */
export function listInstallationSecrets({ config, encryption_keys, webhook_secret, embeddings }: InstallationSettings): string[] {
  const values = [
    ...encryption_keys.split(',').map((entry) => entry.split(':')[1]),
    webhook_secret,
    webhook_secret.replace(/^whsec_/, ''),
    config.AUDIT_WEBHOOK_SECRET,
    config.AUDIT_WEBHOOK_SECRET?.replace(/^whsec_/, ''),
    embeddings?.api_key,
    config.METRICS_TOKEN,
    config.OPENAI_API_KEY,
    config.OIDC_CLIENT_SECRET,
    config.S3_SECRET_ACCESS_KEY,
    config.SMTP_URL && decodeURIComponent(new URL(config.SMTP_URL).password),
  ];
  return values.filter((value) => typeof value === 'string').filter((value) => value.length >= SHORTEST);
}
