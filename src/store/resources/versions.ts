import { v7 as uuid } from 'uuid';
import { AgentCreate } from '../../contracts/agents.ts';
import type { VersionDetail, WorkflowVersion } from '../../contracts/versions.ts';
import { WorkflowCreate, type WorkflowSettings } from '../../contracts/workflows.ts';
import type { FieldChange } from '../../domain/changes.ts';
import type { Definition } from '../../domain/definition.ts';
import { AppError } from '../../domain/errors.ts';
import type { WorkflowVersion as Row } from '../../generated/prisma/client.ts';
import { type Database, row, rows } from '../database/database.ts';
import { listPage, type Paging, wireAs } from '../database/page.ts';
import { pinDefinition, type Snapshot } from '../runs/pin.ts';
import type { ConfigSealer } from '../secrets/sealed-config.ts';
import type { StoredAgent } from './agents.ts';
import { hashDefinition, withDefinition } from './definitions.ts';
import * as sql from './versions.sql.ts';

/** The settings of a workflow and its agent. The agent's prompt is in the definition; its description affects no run. */
export interface VersionConfig {
  workflow: WorkflowSettings;
  agent: AgentSettings;
}
type AgentSettings = Omit<StoredAgent, 'id' | 'created_by' | 'created_at' | 'updated_at' | 'description' | 'system_prompt'>;

const WORKFLOW_FIELDS = Object.keys(WorkflowCreate.shape);
const AGENT_FIELDS = [...Object.keys(AgentCreate.shape), 'approval_guards'].filter(
  (name) => name !== 'description' && name !== 'system_prompt',
);

const pickFields = (record: object, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, (record as Record<string, unknown>)[name] ?? null]));

const agentSettings = (agent: object) => pickFields(agent, AGENT_FIELDS) as unknown as AgentSettings;

/** Returns the settings behind a definition, including those of its prompt. */
export const toVersionConfig = ({ workflow, agent }: Snapshot, { settings }: Definition): VersionConfig => ({
  workflow: {
    ...(pickFields(workflow, WORKFLOW_FIELDS) as unknown as WorkflowSettings),
    reasoning_effort: settings.reasoning_effort as WorkflowSettings['reasoning_effort'],
  },
  agent: agentSettings(agent),
});

/** A definition that a workflow's next run would use. */
interface CurrentDefinition {
  definition: Definition;
  hash: string;
  config: VersionConfig;
}

interface Saver {
  key: string;
  login: string;
}

type StoredVersion = Omit<WorkflowVersion, 'current' | 'runs' | 'last_evaluation'> & { config: VersionConfig | null };

/** The record of a version: its runs, and its last completed evaluation if it has one. */
interface VersionRecord {
  hash: string;
  runs: number;
  id: string | null;
  dataset_id: string;
  pass_rate: number;
  completed_at: Date;
}

function summarizeRecord(record: VersionRecord): Pick<WorkflowVersion, 'runs' | 'last_evaluation'> {
  const { runs, id, dataset_id, pass_rate, completed_at } = record;
  return { runs, last_evaluation: id === null ? null : { id, dataset_id, pass_rate, completed_at: completed_at.toISOString() } };
}

interface Parts extends Pick<Database, 'pool' | 'prisma'> {
  snapshot(workflow_id: string): Promise<Snapshot | undefined>;
  sealer: Pick<ConfigSealer, 'mask'>;
}

export function versionStore({ pool, prisma, snapshot, sealer }: Parts) {
  /**
   * Returns the definition that the next run would use; null if the workflow does not exist. Throws `conflict` if the agent's
   * provider does not exist.
   */
  async function current(workflow_id: string): Promise<CurrentDefinition | null> {
    const current_snapshot = await snapshot(workflow_id);
    if (!current_snapshot) return null;
    const definition = pinDefinition(current_snapshot);
    return {
      definition,
      hash: hashDefinition(JSON.stringify(definition)),
      config: toVersionConfig(current_snapshot, definition),
    };
  }

  const currentIfValid = (workflow_id: string) =>
    current(workflow_id).catch((error: unknown) => (error instanceof AppError ? null : Promise.reject(error)));

  async function withRecord<V extends StoredVersion>(versions: V[], workflow_id: string): Promise<(V & WorkflowVersion)[]> {
    const definition_hashes = versions.map(({ definition_hash }) => definition_hash);
    const [record_rows, now] = await Promise.all([
      rows<VersionRecord>(pool, sql.recordOfVersions({ workflow_id, definition_hashes })),
      currentIfValid(workflow_id),
    ]);
    const records = new Map(record_rows.map((record) => [record.hash, record]));
    return versions.map((version) => ({
      ...version,
      ...summarizeRecord(records.get(version.definition_hash)!),
      current: version.definition_hash === now?.hash,
    }));
  }

  return {
    current,
    withRecord,
    /** Returns the fields of an agent that a version keeps. */
    agentSettings,
    /**
     * Records the definition that a workflow's next run would use, unless it is a version already. A workflow that cannot run has
     * no version.
     */
    async note(workflow_id: string, { key, login }: Saver, origin: WorkflowVersion['origin'] = 'saved'): Promise<void> {
      const now = await currentIfValid(workflow_id);
      if (!now) return;
      const values = {
        id: uuid(),
        workflow_id,
        definition_hash: now.hash,
        definition: JSON.stringify(now.definition),
        config: JSON.stringify(now.config),
        origin,
        created_by: key,
        created_login: login,
        created_at: new Date(),
      };
      const version_row = await withDefinition(() => row(pool, sql.recordVersion(values)));
      if (version_row) await row(pool, sql.dropUnrunVersions({ workflow_id }));
    },
    async list(workflow_id: string, paging: Paging) {
      const page = await listPage(prisma.workflowVersion, { where: { workflow_id }, paging, toItem: toStoredVersion });
      return { ...page, items: await withRecord(page.items, workflow_id) };
    },
    async find(workflow_id: string, number: number): Promise<(StoredVersion & { definition: Definition }) | null> {
      const where = { workflow_id_number: { workflow_id, number } };
      const version_row = await prisma.workflowVersion.findUnique({ where, include: { definition: true } });
      if (!version_row) return null;
      const { definition, ...version } = version_row;
      return { ...toStoredVersion(version), definition: definition.body as unknown as Definition };
    },
    async findNumber(workflow_id: string, definition_hash: string): Promise<number | null> {
      const where = { workflow_id_definition_hash: { workflow_id, definition_hash } };
      return (await prisma.workflowVersion.findUnique({ where, select: { number: true } }))?.number ?? null;
    },
    /** Returns a definition for readers, with the secrets of MCP servers masked. */
    maskDefinition: (definition: Definition) =>
      ({ ...definition, ...maskServers(definition) }) as object as VersionDetail['definition'],
    maskChange: ({ before, after, ...change }: FieldChange): FieldChange => ({
      ...change,
      ...(before === undefined ? {} : { before: sealer.mask(before) }),
      ...(after === undefined ? {} : { after: sealer.mask(after) }),
    }),
  };

  function maskServers({ mcp_servers }: Definition): Pick<Definition, 'mcp_servers'> {
    const mask = (config: unknown) => sealer.mask(config);
    return mcp_servers
      ? { mcp_servers: mcp_servers.map((server) => ({ ...server, connection_config: mask(server.connection_config) })) }
      : {};
  }
}

const toStoredVersion = ({ config, created_by: _key, created_login, ...rest }: Row): StoredVersion => ({
  ...wireAs<WorkflowVersion>()(rest),
  created_by: created_login,
  restorable: config !== null,
  config: config as unknown as VersionConfig | null,
});
