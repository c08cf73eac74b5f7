import { parsePeriod, usage } from '../../contracts/usage.ts';
import { AppError, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { type Api, mount } from '../http/mount.ts';

const ADMINISTRATORS = "Only administrators see everybody's usage; leave `scope` out for your own";
const HOUR_MS = 3_600_000;

interface Query {
  from?: string | undefined;
  to?: string | undefined;
  scope: 'mine' | 'all';
  most: number;
}

export function usageRoutes(api: Api, { usage: store }: Pick<Store, 'usage'>): void {
  const preparePeriod = async ({ scope, most, ...query }: Query, { key, is_admin }: Caller) => {
    if (scope === 'all' && !is_admin) throw new AppError('forbidden', ADMINISTRATORS);
    const { from, to } = parsePeriod(query);
    await store.count();
    const begin = new Date(Math.floor(from / HOUR_MS) * HOUR_MS).toISOString();
    return { from: begin, to: new Date(to).toISOString(), owner: scope === 'all' ? null : key, most };
  };
  mount(api, usage.get, async ({ query: { by, interval = null, zone, ...query } }, caller) => {
    if (by === 'owner' && query.scope !== 'all') throw unprocessable([{ path: 'by', message: '`owner` needs `scope=all`' }]);
    const period = await preparePeriod(query, caller);
    const rows = await store.listUsage(by ?? 'none', { ...period, interval, zone });
    return { ...period, rows: rows.map((row) => ({ ...row, at: row.at?.toISOString() ?? null })) };
  });
  const calls = async (kind: 'model' | 'tool', query: Query, caller: Caller) => {
    const period = await preparePeriod(query, caller);
    const rows = await store.calls(kind, period);
    return { ...period, rows: rows.map((row) => ({ ...row, error_rate: row.failed / row.calls })) };
  };
  mount(api, usage.tools, ({ query }, caller) => calls('tool', query, caller));
  mount(api, usage.models, ({ query }, caller) => calls('model', query, caller));
}
