import { join } from 'node:path';
import { ENGINE_FILE, SEARCH_ATTRIBUTES } from '../temporal/names.ts';
import { FAIR_QUEUES, mayBeFair } from './fair-queues.ts';

export const toDatabasePath = (home: string): string => join(home, ENGINE_FILE);

/**
 * By default, a development server waits for a 50 ms tick before each task and syncs its disk at each transaction; these
 * settings make it six times faster. The journal survives any crash of a process. After a power loss, the last moments may be
 * missing here and are repaired from Postgres.
 */
const TUNING = [
  ...['journal_mode=wal', 'synchronous=normal'].flatMap((pragma) => ['--sqlite-pragma', pragma]),
  ...[
    'history.transferProcessorMaxPollRPS=10000',
    'history.timerProcessorMaxPollRPS=10000',
    'history.transferProcessorUpdateAckInterval="2s"',
    'history.timerProcessorUpdateAckInterval="2s"',
    'history.visibilityProcessorUpdateAckInterval="2s"',
    'system.enableActivityEagerExecution=true',
    // Otherwise the server would read the list of search attributes from its database at each use. They are registered before
    // it serves.
    'system.forceSearchAttributesCacheRefreshOnRead=false',
    // Each run in memory takes two entries, ended runs included; the default is 128,000 entries.
    'history.hostLevelCacheMaxSize=1000',
    // A frozen or disconnected client would lose the tasks that the server gives it: its requests for work expire within three
    // seconds.
    'frontend.keepAliveTime="1s"',
    'frontend.keepAliveTimeout="2s"',
    // The server's HTTP API has no authentication and is not needed, so it accepts only an impossible host name.
    'frontend.httpAllowedHosts=["closed.invalid"]',
  ].flatMap((value) => ['--dynamic-config-value', value]),
  ...SEARCH_ATTRIBUTES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
  '--log-level',
  'error',
];
export interface Tuning {
  /** The environment for the server. It trades memory for fewer garbage collections, up to a limit. */
  environment: string[];
  flags: string[];
}

/** Returns the settings that suit the current state of the server's database. */
export const buildTuning = async ({ home, memory_mib = 384 }: { home: string; memory_mib?: number }): Promise<Tuning> => ({
  environment: ['GOGC=400', `GOMEMLIMIT=${memory_mib}MiB`],
  flags: [
    ...TUNING,
    ...((await mayBeFair(toDatabasePath(home))) ? FAIR_QUEUES.flatMap((value) => ['--dynamic-config-value', value]) : []),
  ],
});
export const formatSettings = ({ environment, flags }: Tuning) => [...environment, ...flags].join(' ');
