import { rebuildTexts } from '../client.ts';
import type { TestInstallation } from '../installation.ts';
import { says } from '../peers/model-server.ts';

export const WATCHED_TEXT = 'One two three four five six seven eight nine ten.';
/** Longer than every limit on the wait for a peer, even several of them in a row. */
export const PATIENCE_MS = 60_000;

const WATCHERS = 5;
/** The expected result of a watched run's `seen`. */
export const WHOLE = Array.from({ length: WATCHERS }, () => ({ texts: [WATCHED_TEXT], unfinished: '' }));

/** Starts a run whose model is slow. Returns after its first text, with several streams that follow it to its end. */
export async function startWatchedRun(here: TestInstallation) {
  const workflow_id = await here.workflow();
  here.model.always(says(WATCHED_TEXT));
  here.model.script(says(WATCHED_TEXT, { pause_ms: 500 }));
  const task_id = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  const reading = Array.from({ length: WATCHERS }, () => here.alice.events(stream, { timeout_ms: PATIENCE_MS }));
  for (const one of reading) one.catch(() => {});
  await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
  return {
    workflow_id,
    task_id,
    reading,
    /** Returns the texts that each stream gave its reader. */
    seen: async () => (await Promise.all(reading)).map((events) => rebuildTexts(events)),
  };
}
