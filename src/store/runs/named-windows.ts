import type pg from 'pg';
import { storable } from '../../domain/transcript.ts';
import { row, rows } from '../database/database.ts';
import { findNamedWindow, forgetUnlistedWindows, listNamedWindows, writeNamedWindows } from './named-windows.sql.ts';

/** The longest name of a model that is kept. */
const NAME_CHARACTERS = 500;

interface NamedWindow {
  model: string;
  context_window: number;
}

/** Names come from endpoints. */
const isKeepable = (model: string) => model.length <= NAME_CHARACTERS && storable(model) === model;

/** The sizes of context windows that the endpoints of providers named: in their lists of models, and when they refused a request. */
export const namedWindows = (pool: pg.Pool) => {
  const write = async (provider_id: string, windows: readonly NamedWindow[], is_refusal: boolean): Promise<void> => {
    const by_model = new Map(windows.filter(({ model }) => isKeepable(model)).map((one) => [one.model, one]));
    if (!is_refusal) await pool.query(forgetUnlistedWindows({ provider_id, models: [...by_model.keys()] }));
    if (by_model.size > 0)
      await pool.query(writeNamedWindows({ provider_id, windows: JSON.stringify([...by_model.values()]), is_refusal }));
  };
  return {
    async find(provider_id: string, model: string): Promise<number | null> {
      return (await row<{ context_window: number }>(pool, findNamedWindow({ provider_id, model })))?.context_window ?? null;
    },
    async list(provider_id: string): Promise<Map<string, number>> {
      const found = await rows<NamedWindow>(pool, listNamedWindows({ provider_id }));
      return new Map(found.map(({ model, context_window }) => [model, context_window]));
    },
    /** Keeps what a list of models says, in place of the list before; a refusal counts more. */
    keepListed: (provider_id: string, windows: readonly NamedWindow[]) => write(provider_id, windows, false),
    /** Keeps the size that the endpoint named when it refused a longer request. */
    keepRefused: (provider_id: string, window: NamedWindow) => write(provider_id, [window], true),
  };
};
