import type { Client } from '@temporalio/client';
import type { HostRule } from '../domain/hosts.ts';
import type { Egress } from '../egress/places.ts';
import type { EventBus } from '../events/bus.ts';
import type { Judge } from '../guardrails/judge.ts';
import type { CachedIdentity, IdentityCheck } from '../identity/cached-identity.ts';
import type { Knowledge } from '../knowledge/knowledge.ts';
import type { ParserPool } from '../parsers/pool.ts';
import type { EmbeddingsEndpoint } from '../runtimes/embeddings.ts';
import type { Database } from '../store/database.ts';
import type { Store } from '../store/index.ts';
import type { KeyRing } from '../store/key-ring.ts';
import type { Quotas } from '../store/quota-checks.ts';
import type { SecretScope } from '../store/secret-scope.ts';
import type { Dispatch } from '../temporal/dispatch.ts';
import type { Engine } from '../temporal/engine.ts';
import type { Schedules } from '../temporal/schedules.ts';
import type { Settle } from '../temporal/settle.ts';
import type { PythonToolRunner } from '../toolrunner/index.ts';
import type { Config } from './config.ts';

/** What has to be known before anything is opened: addresses, and who may come in. */
export interface InstallationSettings {
  config: Config;
  /** Perdura's own, such as 0.1.0. */
  version: string;
  database_url: string;
  temporal_address: string;
  temporal_ui_url: string | null;
  encryption_keys: string;
  default_runtime: { base_url: string; model: string | null };
  webhook_secret: string;
  /** Null: knowledge is searched by words alone. */
  embeddings: EmbeddingsEndpoint | null;
  /** Addresses beyond the public internet that anything of users may reach: the operator's EGRESS_ALLOW. */
  egress_allow: readonly string[];
  /** What users' configuration may name besides, and no tool may reach: one's own machine, where the installation is all on it. */
  configuration_allow: readonly string[];
  /** What providers may name besides: the installation's own models. */
  provider_allow: readonly string[];
  /** Ports of Perdura's own servers on this machine, which nobody reaches through it. */
  own_ports: readonly number[];
  /** The names by which the API may be asked for; null: any. */
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
  egress: Egress;
  /** Where everything is parsed whose input users or the network choose. */
  parsers: ParserPool;
  judge: Judge;
  knowledge: Knowledge;
  identify: CachedIdentity;
  quotas: Quotas;
  log: (message: string) => void;
}

/** What starts and stops runs. */
export interface RunControl {
  client: Client;
  engine: Engine;
  settle: Settle;
  dispatch: Dispatch;
  schedules: Schedules;
}
