import type { Definition } from '../../domain/definition.ts';
import { applyFallback } from '../../domain/fallback.ts';
import { findUnpricedModel, listUnpricedOf } from '../../domain/unpriced.ts';
import type { Store } from '../../store/index.ts';
import type { Engine } from '../client/engine.ts';

interface RaisePorts {
  store: { caps: Pick<Store['caps'], 'listUnpriced'>; providers: Pick<Store['providers'], 'find'> };
  engine: Pick<Engine, 'raise'>;
  definition(hash: string): Promise<Definition>;
  findModelPrice: Parameters<typeof findUnpricedModel>[1]['findModelPrice'];
}

/** Lets the runs try again that wait because a budget above them is in dollars and a model had no price, once each model has one. */
export async function raisePriced({ store, engine, definition, findModelPrice }: RaisePorts): Promise<void> {
  const sources = { findModelPrice, findProvider: store.providers.find };
  for (const { definition_hash, position, unpriced_models, task_ids } of await store.caps.listUnpriced()) {
    const asked = applyFallback(await definition(definition_hash), position);
    // What blocks a run is the model that it asks, and what answered in its place; fallbacks may never be asked.
    const answered = listUnpricedOf(unpriced_models, asked.provider?.id);
    if (await findUnpricedModel({ ...asked, fallbacks: [] }, sources, answered)) continue;
    for (const task_id of task_ids) await engine.raise(task_id);
  }
}
