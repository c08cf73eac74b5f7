import type { HostRule } from '../domain/hosts.ts';
import type { IdentityCheck } from '../identity/cached-identity.ts';
import type { EmbeddingsEndpoint } from '../runtimes/embeddings.ts';
import type { Config } from './config.ts';
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
