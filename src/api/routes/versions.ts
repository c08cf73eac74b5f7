import { callSettings } from '../../contracts/call-settings.ts';
import { type AgentRestore, type Restored, versions } from '../../contracts/versions.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { diffDocuments, type FieldChange } from '../../domain/changes.ts';
import type { Definition } from '../../domain/definition.ts';
import { AppError, conflict, type FieldError, unprocessable } from '../../domain/errors.ts';
import { UNPRICED_MODEL } from '../../domain/unpriced.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { VersionConfig } from '../../store/resources/versions.ts';
import { listWorkflowModelWarnings } from '../checks/model-warnings.ts';
import { getOwnWorkflow } from '../checks/owned.ts';
import type { LimitChecks } from '../checks/priced-limits.ts';
import { listReferenceErrors } from '../checks/references.ts';
import { createOnce, getExisting, refuseForeign, type SharedWrite } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { listAgentErrors } from './agents.ts';

const REFERENCES = { skill_ids: 'skill', guardrail_ids: 'guardrail' } as const;

type Version = NonNullable<Awaited<ReturnType<Store['versions']['find']>>>;

interface Services {
  store: Store;
  dollar_limits: LimitChecks;
}

export function versionRoutes(api: Api, { store, dollar_limits }: Services, shared_write: SharedWrite): void {
  const getOwn = getOwnWorkflow(store);
  const getVersion = async (id: string, number: number): Promise<Version> => {
    const version = await store.versions.find(id, number);
    if (!version) throw new AppError('not_found', `This workflow has no version ${number}`);
    return version;
  };
  /** Returns the definition that the next run would use. */
  const getCurrentDefinition = async (id: string): Promise<Definition> => (await getCurrent(store, id)).definition;

  mount(api, versions.list, async ({ params: { id }, query }, caller) => {
    await getOwn(id, caller);
    return store.versions.list(id, query);
  });
  mount(api, versions.get, async ({ params: { id, number }, query: { against } }, caller) => {
    await getOwn(id, caller);
    const { definition, ...version } = await getVersion(id, number);
    const [version_record] = await store.versions.withRecord([version], id);
    const before = against === 'current' ? await getCurrentDefinition(id) : against && (await getVersion(id, against)).definition;
    const changes = before ? listMaskedChanges(store, before, definition) : undefined;
    return { ...version_record!, definition: store.versions.maskDefinition(definition), ...(changes ? { changes } : {}) };
  });
  mount(api, versions.restore, async ({ params: { id, number }, body: { agent }, reserved_id, warn }, caller) => {
    const before = await getOwn(id, caller);
    const version = await getVersion(id, number);
    const config = requireConfig(version);
    refuseDeleted(await listReferenceErrors(store, { ...config.workflow }, REFERENCES));
    const restoring = { version, config, choice: agent, shared_write, copy_id: reserved_id, title: before.title ?? id };
    const settings = agent === 'keep' ? undefined : await loadSettings(store, restoring);
    const limit_error = await dollar_limits.findLimitError(toLimited(config), settings);
    if (limit_error) throw unprocessable([limit_error], UNPRICED_MODEL);
    const finders = settings ? { ...store, agents: { find: async () => settings } } : store;
    warn(...(await listWorkflowModelWarnings(finders, config.workflow)));
    if (settings && agent === 'change')
      warn(...(await dollar_limits.listBrokenLimits({ agent: { ...settings, id: config.workflow.agent_id } }, caller)));
    const agent_id = await restoreAgent(store, restoring, caller);
    // A version has only the settings that existed at that time.
    const later_settings = { output_schema: null, ...callSettings({}) };
    await store.workflows.update(id, { ...later_settings, ...config.workflow, agent_id }, caller.key);
    await store.versions.note(id, caller);
    return { workflow_id: id, agent_id, ...(await compareWithCurrent(store, id, version)) };
  });
}

const toLimited = ({ workflow: { agent_id, model, budget } }: VersionConfig) => ({ agent_id, model, budget });

function requireConfig({ number, config }: Version): VersionConfig {
  if (config) return config;
  throw conflict(
    `Version ${number} cannot be restored: its runs are older than versions, so only its definition is known. Set the fields that differ yourself`,
    'version_without_settings',
  );
}

const listMaskedChanges = (
  { versions: { maskChange: maskedChange } }: Store,
  before: Definition,
  after: Definition,
): FieldChange[] => diffDocuments(before, after).map(maskedChange);

/** Returns what the next run of a workflow would be pinned with. */
const getCurrent = ({ versions: { current } }: Store, id: string) => getExisting({ find: current }, 'workflow')(id);

/** Lists how the next run differs from a version that was restored. */
async function compareWithCurrent(
  store: Store,
  id: string,
  version: Version,
): Promise<Omit<Restored, 'workflow_id' | 'agent_id'>> {
  const now = await getCurrent(store, id);
  return {
    version: await store.versions.findNumber(id, now.hash),
    exact: now.hash === version.definition_hash,
    differences: listMaskedChanges(store, version.definition, now.definition),
  };
}

interface Restoring {
  version: Version;
  config: VersionConfig;
  choice: AgentRestore | undefined;
  shared_write: SharedWrite;
  /** The id for a copy of the agent, if one was reserved for the request. */
  copy_id: string | undefined;
  /** The title of the workflow, or its id. */
  title: string;
}

/** Restores the agent of the workflow. It may be shared, so it is changed only if the caller requests that. */
async function restoreAgent(store: Store, restoring: Restoring, caller: Caller): Promise<string> {
  const { version, config, choice, shared_write } = restoring;
  const { agent_id } = config.workflow;
  const settings = await loadSettings(store, restoring);
  if (choice === 'copy') return copyAgent(store, { ...restoring, settings }, caller);
  const agent = await store.agents.find(agent_id);
  if (!agent)
    throw conflict(`The agent ${config.agent.name} was deleted; send \`agent\`: \`copy\` to create it again`, 'agent_missing');
  const changed_fields = listChangedFields(
    { ...store.versions.agentSettings(agent), system_prompt: agent.system_prompt },
    settings,
  );
  if (changed_fields.length === 0 || choice === 'keep') return agent_id;
  if (choice !== 'change')
    throw conflict(
      `The agent ${agent.name} has changed since version ${version.number} (${changed_fields.join(', ')}). Send \`agent\`: \`keep\` to leave ` +
        'it as it is, `change` to set it back for everybody who uses it, or `copy` to create an agent as it was for this workflow',
      'agent_differs',
    );
  refuseForeign({ record: agent, noun: 'agent', shared_write }, caller);
  refuseDeleted(await listAgentErrors(store, settings, { before: null, by: caller.key }));
  await store.agents.update(agent_id, settings, caller.key);
  return agent_id;
}

/** Loads the agent's settings of a version. Its guards stay with their tools, even if the tools were renamed. */
async function loadSettings({ agents }: Store, { config, version }: Pick<Restoring, 'config' | 'version'>): Promise<AgentValues> {
  const [agent] = await agents.shown([{ ...config.agent, approve_effects: config.agent.approve_effects ?? [] }]);
  return { ...(agent as VersionConfig['agent']), system_prompt: version.definition.agent.system_prompt };
}

type AgentValues = VersionConfig['agent'] & { system_prompt: string };

async function copyAgent(
  store: Store,
  { version, title, copy_id, settings }: Restoring & { settings: AgentValues },
  caller: Caller,
): Promise<string> {
  refuseDeleted(await listAgentErrors(store, settings, { before: null, by: caller.key }));
  const suffix = ` (version ${version.number} of ${title})`.slice(0, LONGEST_SUFFIX);
  const name = `${settings.name.slice(0, LONGEST_NAME - suffix.length)}${suffix}`;
  const copy = await createOnce(copy_id, store.agents.find, () =>
    store.agents.create({ ...settings, name, created_by: caller.key, ...(copy_id ? { id: copy_id } : {}) }, caller.key),
  );
  return copy.id;
}

const LONGEST_NAME = 200;
const LONGEST_SUFFIX = 120;

/** Throws 422 for records that a version refers to and that have been deleted since. */
function refuseDeleted(errors: FieldError[]): void {
  if (errors.length > 0) throw unprocessable(errors);
}

const listChangedFields = <T extends object>(now: T, then: T): string[] =>
  Object.keys(then).filter((name) => canonicalJson(now[name as keyof T]) !== canonicalJson(then[name as keyof T]));
