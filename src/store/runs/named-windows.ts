import type pg from 'pg';
import { describeEndpoint, type ModelEndpoint, type NamedWindow } from '../../domain/context-window.ts';
import { storable } from '../../domain/transcript.ts';
import { row, rows } from '../database/database.ts';
import { findNamedWindow, forgetUnlistedWindows, listNamedWindows, writeNamedWindows } from './named-windows.sql.ts';

/** The longest name of a model that is kept. */
const NAME_CHARACTERS = 500;

interface ModelWindow {
  model: string;
  context_window: number;
}

type Endpoint = ModelEndpoint & { id: string };

/** Names come from endpoints. */
const isKeepable = (model: string) => model.length <= NAME_CHARACTERS && storable(model) === model;

/** The sizes of context windows that the endpoints of providers named: in their lists of models, and when they refused a request. */
export const namedWindows = (pool: pg.Pool) => {
  const write = async (provider: Endpoint, windows: readonly ModelWindow[], is_refusal: boolean): Promise<void> => {
    const by_model = new Map(windows.filter(({ model }) => isKeepable(model)).map((one) => [one.model, one]));
    const place = { provider_id: provider.id, endpoint: describeEndpoint(provider) };
    if (!is_refusal) await pool.query(forgetUnlistedWindows({ ...place, models: [...by_model.keys()] }));
    if (by_model.size > 0)
      await pool.query(writeNamedWindows({ ...place, windows: JSON.stringify([...by_model.values()]), is_refusal }));
  };
  return {
    async find(provider_id: string, model: string): Promise<NamedWindow | null> {
      return (await row<NamedWindow>(pool, findNamedWindow({ provider_id, model }))) ?? null;
    },
    async list(provider: Endpoint): Promise<Map<string, number>> {
      const place = { provider_id: provider.id, endpoint: describeEndpoint(provider) };
      const found = await rows<ModelWindow>(pool, listNamedWindows(place));
      return new Map(found.map(({ model, context_window }) => [model, context_window]));
    },
    /** Keeps what a list of models says, in place of the list before; a refusal counts more. */
    keepListed: (provider: Endpoint, windows: readonly ModelWindow[]) => write(provider, windows, false),
    /** Keeps the size that the endpoint named when it refused a longer request. */
    keepRefused: (provider: Endpoint, window: ModelWindow) => write(provider, [window], true),
  };
};
