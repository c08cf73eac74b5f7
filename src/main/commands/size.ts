import { parseArgs } from 'node:util';
import { estimateSizing, LOAD_LIMITS, type Load, type Sizing } from '../../domain/sizing.ts';
import type { Config } from '../config.ts';
import { print } from '../terminal.ts';

/** The defaults of a load's fields. By default, a run has one call fewer than steps. */
const DEFAULTS = { runs_per_second: 0, streams: 0, steps: 3, tokens_per_second: 40, readers: 1, parked: 0, retention_days: 30 };

type Given = Partial<Record<string, string | boolean>>;

const toOptionName = (field: string) => field.replaceAll('_', '-');

/** Reads the load from the options; throws a sentence about a value outside its limits. */
function parseLoad(given: Given): Load {
  const load: Record<string, number> = { ...DEFAULTS };
  for (const [field, [least, most]] of Object.entries(LOAD_LIMITS)) {
    const text = given[toOptionName(field)];
    if (text === undefined) continue;
    const value = text === '' ? Number.NaN : Number(text);
    if (!(value >= least && value <= most))
      throw new Error(`--${toOptionName(field)} must be a number from ${least} to ${most}, not ${text || 'empty'}`);
    load[field] = value;
  }
  return { calls: (load.steps ?? 1) - 1, ...load } as Load;
}

/** `perdura size`: estimates an installation's size; it needs no installation. */
export default async function runSize(_config: Config, args: string[]): Promise<void> {
  if (args.length === 0)
    throw new Error('Name the load: perdura size --runs-per-second N --streams N; --help lists the other options');
  const fields = Object.keys(LOAD_LIMITS).map((field) => [toOptionName(field), { type: 'string' as const }] as const);
  const { values } = parseArgs({ args, options: { ...Object.fromEntries(fields), json: { type: 'boolean' as const } } });
  const load = parseLoad(values as Given);
  const sizing = estimateSizing(load);
  print((values as Given).json ? `${JSON.stringify({ load, ...sizing }, null, 2)}\n` : table(sizing));
}

const gb = (mb: number) => `${(mb / 1_024).toFixed(1)} GB`;
const formatShare = (share: number) => `${Math.round(share * 100)} %`;

function table({ api, worker, postgres, temporal, redis, next_split }: Sizing): string {
  const { connections, memory_mb, disk_gb, statements_per_second } = postgres;
  const rows = [
    ['API', `${api.processes} processes, ${api.cores} cores, ${gb(api.memory_mb)} each`],
    ['Workers', `${worker.processes} processes, ${worker.cores} cores, ${gb(worker.memory_mb)} each`],
    [
      'Postgres',
      `${postgres.cores} cores, ${gb(memory_mb)}, ${disk_gb} GB of disk, ${connections} connections, ${statements_per_second} statements/s`,
    ],
    [
      'Temporal',
      `${temporal.cores} cores with its database, ${temporal.history_shards} history shards, ${temporal.disk_gb} GB of disk`,
    ],
    ['Redis', redis.servers ? `1 server, ${redis.cores} cores` : 'not needed'],
    ['Next to split', `${next_split.how} (at ${formatShare(next_split.share)} of its limit)`],
  ];
  return rows.map(([name = '', text]) => `${name.padEnd(15)}${text}\n`).join('');
}
