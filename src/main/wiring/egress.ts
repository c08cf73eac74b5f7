import { type ByteLimits, limitFetchBytes } from '../../egress/counted-fetch.ts';
import { createGuardedFetch, type GuardedFetch } from '../../egress/guarded-fetch.ts';
import { followRedirects } from '../../egress/redirects.ts';
import type { InstallationSettings } from '../installation-settings.ts';
import type { Resources } from '../resources.ts';

/** The rules depend on the caller; test/unit/egress-places.test.ts lists which caller gets which. */
export interface Egress {
  /** For addresses in users' configuration: MCP servers, webhooks, knowledge sources, repositories. */
  configuration: GuardedFetch;
  /** For model providers: the rules of `configuration`, plus the installation's own models. */
  providers: GuardedFetch;
  /** For addresses that a model chooses during a run: never this machine, unless the operator allows it. */
  tools: GuardedFetch;
  /**
   * For addresses that the operator set: the default runtime, embeddings, web search. They are counted like the others, but not
   * checked.
   */
  installation: typeof globalThis.fetch;
  /** For the operator's object store: its own files, in parts of a known size. */
  objects: typeof globalThis.fetch;
  /** The most bytes that are read of any answer. */
  limits: ByteLimits;
  /** Ports of this machine that are Perdura's own. The API adds its own when it listens. */
  own_ports: Set<number>;
  /** The rules of `tools` in the format of the tool runner. */
  tools_allow: readonly string[];
}

type Setup = Pick<
  InstallationSettings,
  | 'egress_allow'
  | 'configuration_allow'
  | 'provider_allow'
  | 'own_ports'
  | 'database_url'
  | 'direct_database_url'
  | 'temporal_address'
  | 'temporal_ui_url'
> & { config: Pick<InstallationSettings['config'], 'REDIS_URL' | 'S3_ENDPOINT' | 'SMTP_URL'> & LimitSettings };

type LimitSettings = Pick<
  InstallationSettings['config'],
  'EGRESS_MESSAGE_MB' | 'EGRESS_STREAM_MB' | 'EGRESS_ERROR_KB' | 'EGRESS_HEADER_KB'
>;

const KIB = 1_024;
const MIB = 1_024 * KIB;

const getByteLimits = (config: LimitSettings): ByteLimits => ({
  message: config.EGRESS_MESSAGE_MB * MIB,
  stream: config.EGRESS_STREAM_MB * MIB,
  error: config.EGRESS_ERROR_KB * KIB,
  headers: config.EGRESS_HEADER_KB * KIB,
});

/** Creates a fetch for addresses that the operator set. */
export const createInstallationFetch = (config: LimitSettings): typeof globalThis.fetch =>
  limitFetchBytes(followRedirects(globalThis.fetch), getByteLimits(config));

export function openEgress(setting: Setup, resources: Resources): Egress {
  const { egress_allow, configuration_allow, provider_allow } = setting;
  const own_ports = listOwnPorts(setting);
  const limits = getByteLimits(setting.config);
  const open = (...allow: string[]) => resources.hold(createGuardedFetch(allow, own_ports, limits), (it) => it.close());
  return {
    configuration: open(...egress_allow, ...configuration_allow),
    providers: open(...egress_allow, ...configuration_allow, ...provider_allow),
    tools: open(...egress_allow),
    installation: createInstallationFetch(setting.config),
    objects: limitFetchBytes(globalThis.fetch),
    limits,
    own_ports,
    tools_allow: egress_allow,
  };
}

const DEFAULT_PORTS: Record<string, number> = {
  'http:': 80,
  'https:': 443,
  'postgresql:': 5432,
  'postgres:': 5432,
  'redis:': 6379,
  'rediss:': 6379,
  'smtp:': 587,
  'smtps:': 465,
};
const HERE = /^(localhost|127\..*|\[::1?\]|0\.0\.0\.0|)$/;

/** Lists ports of servers that are configured with an address of this machine, and of servers known to run here. */
function listOwnPorts({ own_ports, temporal_address, temporal_ui_url, config, ...setup }: Setup): Set<number> {
  const databases = [setup.database_url, setup.direct_database_url];
  const others = [temporal_ui_url, config.REDIS_URL, config.S3_ENDPOINT, config.SMTP_URL];
  const local_ports = [...databases, `tcp://${temporal_address}`, ...others].flatMap((url) => {
    if (!url || !URL.canParse(url)) return [];
    const { protocol, hostname, port } = new URL(url);
    return HERE.test(hostname) ? [Number(port) || (DEFAULT_PORTS[protocol] ?? 0)] : [];
  });
  return new Set([...own_ports, ...local_ports]);
}

/** The operator chose this address, so it may be private. */
export const toHostPort = (url: string): string => {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
};
