import { expect, it } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { runSecrets } from '../../src/main/wiring/runs/secrets.ts';
import { createSecretScope } from '../../src/main/wiring/secret-scope.ts';

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
