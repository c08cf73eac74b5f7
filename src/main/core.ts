import type { Client } from '@temporalio/client';
import type { IdentityCheck } from '../api/identity.ts';
import type { GuardedFetch } from '../egress/guarded-fetch.ts';
import type { EventBus } from '../events/bus.ts';
import type { Knowledge } from '../knowledge/knowledge.ts';
import type { EmbeddingsEndpoint } from '../runtimes/embeddings.ts';
import type { Database } from '../store/database.ts';
import type { Store } from '../store/index.ts';
import type { KeyRing } from '../store/key-ring.ts';
import type { Dispatch } from '../temporal/dispatch.ts';
import type { Engine } from '../temporal/engine.ts';
import type { Schedules } from '../temporal/schedules.ts';
import type { Settle } from '../temporal/settle.ts';
import type { PythonToolRunner } from '../toolrunner/index.ts';
import type { Config } from './config.ts';

/** What has to be known before anything is opened: addresses, and who may come in. */
export interface Setting {
  config: Config;
  database_url: string;
  temporal_address: string;
  temporal_ui_url: string | null;
  encryption_keys: string;
  default_runtime: { base_url: string; model: string | null };
  webhook_secret: string;
  /** Null: knowledge is searched by words alone. */
  embeddings: EmbeddingsEndpoint | null;
  /** Addresses beyond the public internet that users may name, besides the default runtime's own. */
  egress_allow: readonly string[];
  identity_providers: IdentityCheck[];
}

/** What API and worker share in one process. */
export interface Core {
  setting: Setting;
  database: Database;
  keys: KeyRing;
  store: Store;
  bus: EventBus;
  runner: PythonToolRunner;
  egress: GuardedFetch;
  knowledge: Knowledge;
  identify: IdentityCheck;
  log: (message: string) => void;
}

/** What starts and stops runs. */
export interface Driver {
  client: Client;
  engine: Engine;
  settle: Settle;
  dispatch: Dispatch;
  schedules: Schedules;
}

/** Where runs have their working directories. */
export const workspacesOf = ({ PERDURA_HOME }: Config) => `${PERDURA_HOME}/workspaces`;
