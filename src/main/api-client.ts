import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from './config.ts';
import { note } from './terminal.ts';

/** The file in which a running installation writes its address. */
const Place = z.object({
  api_url: z.string(),
  token_file: z.string(),
  temporal_ui_url: z.string().nullable(),
  demo_model_url: z.string(),
});

export type Json = Record<string, unknown>;
/** Calls the API; throws with the answer's detail if it refuses. */
export type Call = <T = Json>(method: string, path: string, body?: object) => Promise<T>;

/** The installation that runs with this home; throws if there is none. */
export async function findInstallation({ PERDURA_HOME, PERDURA_READY_FILE }: Config) {
  const file = PERDURA_READY_FILE ?? join(PERDURA_HOME, 'ready.json');
  try {
    const place = Place.parse(JSON.parse(await readFile(file, 'utf8')));
    return { ...place, token: (await readFile(place.token_file, 'utf8')).trim() };
  } catch {
    throw new Error('No running installation found here; run `npm start` in another terminal first');
  }
}

export function apiClient(api_url: string, token: string): Call {
  return async <T>(method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${api_url}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    const reply = (await answer.json().catch(() => {
      throw new Error(`${method} ${path} was answered with ${answer.status} and no JSON, maybe by a proxy`);
    })) as Json;
    if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}: ${reply.detail}`);
    for (const { message } of (reply.warnings ?? []) as { message: string }[]) note(`  (${message})`);
    return reply as T;
  };
}
