import { expect, it } from 'vitest';
import { SECRET_NAME } from '../../src/domain/secrets.ts';
import { readConfig } from '../../src/main/config.ts';
import { SETTING_NAMES } from '../../src/main/variables.ts';
import { runSecrets } from '../../src/main/wiring/runs/secrets.ts';
import { createSecretScope, listInstallationSecrets } from '../../src/main/wiring/secret-scope.ts';

const SECRET = 'a-secret-of-the-run';
const RUN = { owner: 'alice', definition_hash: 'hash', caller_token: null, caller_key_id: null };

/** A worker over a record that lacks something at first. */
function worker(lacks: 'task' | 'definition') {
  const missing = new Set([lacks]);
  const secrets = createSecretScope([]);
  const store = {
    tasks: { findSecretFacts: async () => (missing.has('task') ? undefined : RUN), callerToken: () => null },
    definitions: { find: async () => (missing.has('definition') ? null : { tools: [], provider: null, repository: null }) },
    mcpSignIns: { openForRedaction: async () => {} },
    tokens: { openForRedaction: async () => secrets.recordSecret(SECRET) },
  };
  const { during } = runSecrets({ store, secrets, setting: { config: readConfig({}) } } as never);
  return { seen: () => during('task', async () => secrets.redact.text(`It is ${SECRET}`)), found: () => missing.clear() };
}

it.each(['task', 'definition'] as const)(
  'a run whose %s was missing has its secrets redacted once it is on record',
  async (lacks) => {
    const { seen, found } = worker(lacks);
    expect(await seen()).toContain(SECRET);
    found();
    expect(await seen()).toBe('It is [redacted]');
  },
);

/** Settings with the name of a secret that are none of the installation's. */
const NO_SECRETS: Record<string, string> = {
  PERDURA_API_TOKEN: 'of the commands for a remote installation, which the installation does not read',
  S3_ACCESS_KEY_ID: 'the name of a key',
};

it.each(SETTING_NAMES.filter((name) => SECRET_NAME.test(name) && !(name in NO_SECRETS)))(
  'the installation redacts the value of %s',
  (name) => {
    const value = `${name}-of-the-operator`;
    const pick = (own: string, given: unknown) => (name === own ? given : null);
    const setting = {
      config: { [name]: value },
      encryption_keys: pick('ENCRYPTION_KEYS', `id:other-key,second:${value}`) ?? '',
      webhook_secret: pick('WEBHOOK_SECRET', value) ?? '',
      embeddings: pick('EMBEDDINGS_API_KEY', { api_key: value }),
    };
    const { redact } = createSecretScope(listInstallationSecrets(setting as never));
    expect(redact.text(`It is ${value}`)).toBe('It is [redacted]');
  },
);
