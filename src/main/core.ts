import type { Client } from '@temporalio/client';
import type { EventBus } from '../events/bus.ts';
import type { PublishChange } from '../events/changes.ts';
import type { Judge } from '../guardrails/judge.ts';
import type { CachedIdentity } from '../identity/cached-identity.ts';
import type { LaterStarts } from '../identity/later-starts.ts';
import type { AuthorityOf } from '../identity/roles.ts';
import type { Knowledge } from '../knowledge/knowledge.ts';
import type { Meters } from '../observe/meters.ts';
import type { Tracing } from '../observe/tracing.ts';
import type { ParserPool } from '../parsers/pool.ts';
import type { Database } from '../store/database/database.ts';
import type { Store } from '../store/index.ts';
import type { Quotas } from '../store/people/quota-checks.ts';
import type { KeyRing } from '../store/secrets/key-ring.ts';
import type { Engine } from '../temporal/client/engine.ts';
import type { Evaluations } from '../temporal/client/evaluations.ts';
import type { Schedules } from '../temporal/client/schedules.ts';
import type { EpochKeeper } from '../temporal/repair/epoch.ts';
import type { Dispatch } from '../temporal/start/orders.ts';
import type { Settle } from '../temporal/start/settle.ts';
import type { Starts } from '../temporal/start/starts.ts';
import type { PythonToolRunner } from '../toolrunner/python-tool-runner.ts';
import type { McpPackages } from '../tools/mcp/packages/cache.ts';
import type { InstallationSettings } from './installation-settings.ts';
import type { Egress } from './wiring/egress.ts';
import type { ModelCatalogueKeeper } from './wiring/model-catalogue.ts';
import type { SecretScope } from './wiring/secret-scope.ts';

/** The services that API and worker share in one process. */
export interface SharedServices {
  setting: InstallationSettings;
  database: Database;
  keys: KeyRing;
  secrets: SecretScope;
  store: Store;
  bus: EventBus;
  /** Publishes a change of a record to the streams of changes, at most once a second for each record. */
  publishChange: PublishChange;
  runner: PythonToolRunner;
  mcp_packages: McpPackages;
  egress: Egress;
  model_catalogue: ModelCatalogueKeeper;
  /** Parses all input from users or the network. */
  parsers: ParserPool;
  judge: Judge;
  knowledge: Knowledge;
  identify: CachedIdentity;
  authorityOf: AuthorityOf;
  /** Checks the owner of anything that was saved to run later. */
  mayStart: LaterStarts;
  quotas: Quotas;
  starts: Starts;
  meters: Meters;
  /** The traces; null: tracing is off. */
  tracing: Tracing | null;
  log: (message: string) => void;
}

/** The services that start and stop runs. */
export interface RunControl {
  client: Client;
  engine: Engine;
  settle: Settle;
  dispatch: Dispatch;
  schedules: Schedules;
  evaluations: Evaluations;
  epoch: EpochKeeper;
}
