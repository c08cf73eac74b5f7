import { mkdir } from 'node:fs/promises';
import { startDemoModel } from '../embedded/demo-model.ts';
import { reservePort } from '../embedded/ports.ts';
import { startPostgres } from '../embedded/postgres.ts';
import type { Restartable } from '../embedded/supervision.ts';
import { findTemporal, startTemporal } from '../embedded/temporal.ts';
import type { Config } from './config.ts';
import type { Resources } from './resources.ts';

export interface Servers {
  database_url: string;
  /** The database URL for this process. */
  own_database_url: string;
  /** The database URL without a pooler. */
  direct_database_url: string;
  temporal_address: string;
  temporal_ui_url: string | null;
  demo_model_url: string;
  /** The ports of all servers started here. */
  own_ports: number[];
  pids(): Record<string, number>;
  /** The servers that were started here and can be restarted. */
  restartable: Restartable[];
}

type Log = (line: string) => void;

const DEMO_MODEL_PORT = 18_900;

/** Starts Postgres, Temporal and the demo model of an installation; servers named by the environment are used instead. */
export async function startServers(config: Config, resources: Resources, log: Log): Promise<Servers> {
  const { PERDURA_HOME: home, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = config;
  if (!TEMPORAL_ADDRESS && TEMPORAL_NAMESPACE !== 'default')
    throw new Error(
      `TEMPORAL_NAMESPACE=${TEMPORAL_NAMESPACE} is for a server that TEMPORAL_ADDRESS names; the Temporal that npm start runs has the namespace default. Set both, or neither`,
    );
  await mkdir(home, { recursive: true, mode: 0o711 });
  const [database, temporal] = await Promise.all([
    ensureDatabase(config, resources, log),
    ensureTemporal(config, resources, log),
  ]);
  const demo = resources.hold(await startDemoModel({ port: await reservePort(home, 'demo-model', DEMO_MODEL_PORT) }), (it) =>
    it.stop(),
  );
  return {
    ...database,
    temporal_address: temporal.temporal_address,
    temporal_ui_url: temporal.temporal_ui_url,
    demo_model_url: demo.url,
    own_ports: [...temporal.ports, Number(new URL(demo.url).port)],
    pids: () => Object.fromEntries([...database.started, ...temporal.started].map(({ name, pid }) => [name.toLowerCase(), pid])),
    restartable: [...database.started, ...temporal.started],
  };
}

async function ensureDatabase(
  { DATABASE_URL: url, DATABASE_DIRECT_URL: direct, PERDURA_HOME: home }: Config,
  resources: Resources,
  log: Log,
) {
  if (url) return { database_url: url, own_database_url: url, direct_database_url: direct ?? url, started: [] };
  const postgres = resources.hold(await startPostgres({ home, log }), (it) => it.stop());
  return {
    database_url: postgres.url,
    own_database_url: postgres.socket_url,
    direct_database_url: postgres.socket_url,
    started: [postgres],
  };
}

async function ensureTemporal(
  {
    TEMPORAL_ADDRESS,
    TEMPORAL_UI_URL,
    TEMPORAL_CLI_PATH: path,
    PERDURA_HOME: home,
    ENGINE_RETENTION_DAYS: retention_days,
  }: Config,
  resources: Resources,
  log: Log,
) {
  if (TEMPORAL_ADDRESS)
    return { temporal_address: TEMPORAL_ADDRESS, temporal_ui_url: TEMPORAL_UI_URL ?? null, ports: [], started: [] };
  const executable = await findTemporal({ home, log, path });
  const temporal = resources.hold(await startTemporal({ executable, home, log, retention_days }), (it) => it.stop());
  const { address, ui_url, ports } = temporal;
  return { temporal_address: address, temporal_ui_url: ui_url, ports, started: [temporal] };
}
