import pg from 'pg';
import { z } from 'zod';
import { EVENT_TYPES } from '../../../src/contracts/events.ts';
import { LOG_EVENTS } from '../../../src/contracts/log-events.ts';

/** The map, with refusal of fields that it does not have. */
const SCHEMAS = new Map<string, z.ZodObject>([
  ...Object.entries(EVENT_TYPES).map(([type, schema]) => [type, schema.strict()] as const),
  ...Object.entries(LOG_EVENTS).map(
    ([name, schema]) => [`log ${name}`, z.strictObject({ event: z.literal(name), ...schema.shape })] as const,
  ),
]);

/** Returns the reason why an event does not fit the map; null if it does. */
export function judgeEvent({ type, data }: { type: string; data: Record<string, unknown> }): string | null {
  const name = type === 'log' ? `log ${data.event}` : type;
  const schema = SCHEMAS.get(name);
  if (!schema) return `${name}: there is no such event`;
  const { error } = schema.safeParse(data);
  return error ? `${name}: ${z.prettifyError(error)}` : null;
}

/** Returns a sentence for each way in which an event of the record since a time does not fit the map. */
export async function findForeignEvents(database_url: string, since = new Date(0)): Promise<string[]> {
  const client = new pg.Client(database_url);
  await client.connect();
  try {
    const { rows } = await client.query('SELECT type, data FROM events WHERE timestamp >= $1', [since]);
    return [...new Set(rows.flatMap((row) => judgeEvent(row) ?? []))];
  } finally {
    await client.end();
  }
}
