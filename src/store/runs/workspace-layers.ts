import { type Queryable, row, rows } from '../database/database.ts';
import type { OpenCall } from './tool-ledger.ts';
import * as sql from './workspace-layers.sql.ts';

interface Layer {
  chunks: string[];
  bytes: number;
}

interface NumberedLayer extends Layer {
  number: string;
}

/** Stores the references to the objects that make up the workspaces of runs. */
export function workspaceLayers(pool: Queryable) {
  const getNumber = (layer: { number: string } | undefined) => layer?.number ?? null;
  return {
    /** Returns the layers of a run, in their order. */
    find: (task_id: string) => rows<NumberedLayer>(pool, sql.layersOfTask({ task_id })),
    /**
     * Adds the changes of a call as a layer. Returns its number; null if another attempt has taken the call over, or its task has
     * ended.
     */
    async add({ task_id, call_id, status, attempts }: OpenCall, { chunks, bytes }: Layer): Promise<string | null> {
      const seen_state = { seen_status: status, seen_attempts: attempts };
      return getNumber(await row(pool, sql.addLayer({ task_id, call_id, ...seen_state, chunks, bytes })));
    },
    /** Adds the layer that a run starts with. Returns its number; null if it has one, or its task has ended. */
    async first(task_id: string, layer: Layer): Promise<string | null> {
      return getNumber(await row(pool, sql.firstLayer({ task_id, chunks: layer.chunks, bytes: layer.bytes })));
    },
    async forget(task_id: string): Promise<void> {
      await row(pool, sql.forgetLayers({ task_id }));
    },
  };
}
