import type { Client } from '@temporalio/client';
import type { HostRule } from '../domain/hosts.ts';
import type { EventBus } from '../events/bus.ts';
import type { Judge } from '../guardrails/judge.ts';
import type { CachedIdentity, IdentityCheck } from '../identity/cached-identity.ts';
import type { LaterStarts } from '../identity/later-starts.ts';
import type { AuthorityOf } from '../identity/roles.ts';
import type { Knowledge } from '../knowledge/knowledge.ts';
import type { Meters } from '../observe/meters.ts';
import type { Tracing } from '../observe/tracing.ts';
import type { ParserPool } from '../parsers/pool.ts';
import type { EmbeddingsEndpoint } from '../runtimes/embeddings.ts';
import type { Database } from '../store/database/database.ts';
import type { Store } from '../store/index.ts';
import type { Quotas } from '../store/people/quota-checks.ts';
import type { KeyRing } from '../store/secrets/key-ring.ts';
import type { Engine } from '../temporal/client/engine.ts';
import type { Evaluations } from '../temporal/client/evaluations.ts';
import type { Schedules } from '../temporal/client/schedules.ts';
import type { EpochKeeper } from '../temporal/repair/epoch.ts';
import type { Dispatch } from '../temporal/start/dispatch.ts';
import type { Settle } from '../temporal/start/settle.ts';
import type { Starts } from '../temporal/start/starts.ts';
import type { PythonToolRunner } from '../toolrunner/index.ts';
import type { McpPackages } from '../tools/mcp/packages/cache.ts';
import type { Config } from './config.ts';
import type { Egress } from './wiring/egress.ts';
import type { SecretScope } from './wiring/secret-scope.ts';

/** What must be known before any connection is opened: addresses, and who may sign in. */
export interface InstallationSettings {
  config: Config;
  /** The version of Perdura, such as 0.1.0. */
  version: string;
  database_url: string;
  /** The server itself, where `database_url` is a pooler; null: `database_url` is the server. */
  direct_database_url: string | null;
  temporal_address: string;
  temporal_ui_url: string | null;
  /** Where people reach the service; null: not known, or not yet. */
  public_url(): string | null;
  encryption_keys: string;
  default_runtime: { base_url: string; model: string | null };
  webhook_secret: string;
  /** Null: knowledge is searched by words only. */
  embeddings: EmbeddingsEndpoint | null;
  /** Addresses outside the public internet that users' tools and resources may reach: the operator's EGRESS_ALLOW. */
  egress_allow: readonly string[];
  /** Further addresses that users' configuration may name but no tool may reach: this machine, if the whole installation runs on it. */
  configuration_allow: readonly string[];
  /** Further addresses that providers may name: the installation's own models. */
  provider_allow: readonly string[];
  /** Ports of Perdura's own servers on this machine, which nothing of users may reach. */
  own_ports: readonly number[];
  /** The host names that the API accepts; null: any. */
  answers_to: HostRule | null;
  identity_providers: IdentityCheck[];
}

/** What API and worker share in one process. */
export interface SharedServices {
  setting: InstallationSettings;
  database: Database;
  keys: KeyRing;
  secrets: SecretScope;
  store: Store;
  bus: EventBus;
  runner: PythonToolRunner;
  mcp_packages: McpPackages;
  egress: Egress;
  /** Parses all input from users or the network. */
  parsers: ParserPool;
  judge: Judge;
  knowledge: Knowledge;
  identify: CachedIdentity;
  authorityOf: AuthorityOf;
  /** Checks the owner of what was saved to run later. */
  mayStart: LaterStarts;
  quotas: Quotas;
  starts: Starts;
  meters: Meters;
  /** Null: no traces. */
  tracing: Tracing | null;
  log: (message: string) => void;
}

/** What starts and stops runs. */
export interface RunControl {
  client: Client;
  engine: Engine;
  settle: Settle;
  dispatch: Dispatch;
  schedules: Schedules;
  evaluations: Evaluations;
  epoch: EpochKeeper;
}
