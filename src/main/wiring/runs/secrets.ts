import { LRUCache } from 'lru-cache';
import type { Definition } from '../../../domain/definition.ts';
import type { Redactor } from '../../../domain/redaction.ts';
import { listTokenNames } from '../../../domain/secrets.ts';
import type { RunOfSecrets } from '../../../store/runs/tasks.ts';
import type { RunSecrets } from '../../../temporal/activities/secrets.ts';
import type { SharedServices } from '../../core.ts';

/** How soon every worker knows a new value that it has not opened itself. Values may change during a run. */
const FRESH_MS = 60_000;
const MOST_KEPT = 1_000;

/**
 * The secrets that a run's tools, model and sources may see: everything that its definition can open. One worker may open a
 * secret and another read it back, for example from a file, so each worker opens all of them, in memory and once per minute.
 */
export function runSecrets(core: Pick<SharedServices, 'store' | 'secrets' | 'setting'>): RunSecrets {
  const { secrets } = core;
  const { WORKER_ROLE } = core.setting.config;
  const open = WORKER_ROLE.every((role) => role === 'tools') ? openThoseOfCalls : openAll;
  const redactors = new LRUCache<string, { redactor: Redactor; at: number }>({ max: MOST_KEPT });

  async function findRedactor(task_id: string, run?: RunOfSecrets): Promise<Redactor> {
    const entry = redactors.get(task_id);
    if (entry && performance.now() - entry.at < FRESH_MS) return entry.redactor;
    const redactor = entry?.redactor ?? secrets.openRedactor();
    const is_opened = await secrets.runInScope(redactor, () => open(core, task_id, run));
    if (is_opened) redactors.set(task_id, { redactor: redactor, at: performance.now() });
    return redactor;
  }

  return {
    async during(task_id, work, run) {
      const redactor = await findRedactor(task_id, run);
      return secrets.runInScope(redactor, work).catch((error: unknown) => Promise.reject(redactor.error(error)));
    },
    runInNewScope: secrets.runInNewScope,
  };
}

/** Opens secrets; false if the definition that lists them is not on record now. */
type Opens = (core: Pick<SharedServices, 'store'>, task_id: string, known_run?: RunOfSecrets) => Promise<boolean>;

/**
 * Opens the secrets that a run may see. They are not sent anywhere, so this does not count as a use of a token. A run whose definition is
 * not on record is parked by its activity, before anything opens a secret.
 */
export const openAll: Opens = async ({ store }, task_id, known_run) => {
  const run = known_run ?? (await store.tasks.findSecretFacts(task_id));
  if (!run) return false;
  store.tasks.callerToken({ ...run, task_id });
  const definition = await store.definitions.find(run.definition_hash);
  if (!definition) return false;
  await openNamed({ store }, { task_id, owner: run.owner }, definition);
  return true;
};

/**
 * Opens the secrets that the calls of a run may see, for a process that only calls tools: neither the caller's access token nor the
 * provider's key gets there.
 */
const openThoseOfCalls: Opens = async ({ store }, task_id) => {
  const run = await store.tasks.findOwnerFacts(task_id);
  if (!run) return false;
  const definition = await store.definitions.find(run.definition_hash);
  if (!definition) return false;
  await openNamed({ store }, { task_id, owner: run.owner }, { ...definition, provider: null });
  return true;
};

async function openNamed(
  { store }: Pick<SharedServices, 'store'>,
  { task_id, owner }: { task_id: string; owner: string },
  { provider, tools, mcp_servers = [], knowledge_source_ids = [], repository }: Definition,
): Promise<void> {
  const sources =
    knowledge_source_ids.length > 0 ? await store.knowledgeSources.listOpened({ id: { in: knowledge_source_ids } }) : [];
  const configs = mcp_servers.map(({ connection_config }) => store.mcpServers.sealer.open(connection_config));
  await store.mcpSignIns.openForRedaction(
    owner,
    mcp_servers.map(({ id }) => id),
  );
  const names = [
    provider?.api_key_token_name,
    repository?.token_name,
    ...tools.flatMap((tool) => (tool.kind === 'custom' ? Object.values(tool.env) : [])),
    ...[...configs, ...sources.map(({ connection_config }) => connection_config)].flatMap(listTokenNames),
  ];
  // Also secrets that the run received earlier and could not get any more.
  await store.tokens.openForRedaction(task_id, [...new Set(names.filter((name) => typeof name === 'string'))], owner);
}
