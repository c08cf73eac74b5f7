import { z } from 'zod';
import { TASK_STATUSES } from '../domain/statuses.ts';
import { Id, Timestamp } from './common.ts';
import { LOG_EVENTS, type LogName, RequestedCall } from './log-events.ts';

/** The data of the log events with these names. */
export type LogData<N extends LogName = LogName> = { [K in N]: { event: K } & z.output<(typeof LOG_EVENTS)[K]> }[N];

type KeyOf<D> = D extends D ? keyof D : never;
type FieldOf<D, F> = D extends D ? (F extends keyof D ? D[F] : never) : never;
/** Every field that a log event may have: each is present only in some of the events. */
export type AnyLogFields = { [F in KeyOf<LogData>]?: FieldOf<LogData, F> };

/** The data of the other types of events. */
export const EVENT_TYPES = {
  message: z
    .object({
      role: z.string(),
      content: z.string(),
      step: z.int().optional(),
      tool_calls: z.array(RequestedCall).optional(),
      call_id: z.string().optional(),
      name: z.string().optional().meta({ description: 'The tool, if the message is a result' }),
      kind: z.literal('steer').optional().meta({
        description: 'Present if a person sent the message while the run worked; `step` reads it first',
      }),
      message_id: Id.optional().meta({ description: 'Its receipt' }),
      partial: z.boolean().optional().meta({ description: 'True: the run ended before the message was complete' }),
      truncated: z.boolean().optional().meta({ description: 'True: the reply ended at the output limit of the model' }),
      reasoning: z
        .string()
        .optional()
        .meta({ description: 'What the model thought before, if its endpoint shows it; the beginning of it' }),
    })
    .meta({ description: 'A complete message of the model or of a tool, or one that a person sent while the run worked.' }),
  message_delta: z.object({ delta: z.string() }).meta({ description: 'A piece of the text that the model is writing.' }),
  usage: z
    .object({
      total_in: z.int(),
      total_out: z.int(),
      estimated: z.boolean().optional().meta({ description: 'True: a part was not reported by the endpoint and is an estimate' }),
      priced: z.boolean().optional().meta({ description: 'False: a part has no price, and is missing in cost; absent: true' }),
      total_input_tokens: z.int().optional().meta({ description: 'The same as total_in' }),
      total_output_tokens: z.int().optional(),
      total_cost: z.number().optional().meta({ description: 'The same as cost' }),
      total_premium_requests: z.int().optional(),
      cost: z.number(),
      cache_read: z.int(),
      cache_write: z.int(),
      premium_requests: z.int(),
    })
    .meta({ description: 'The usage of the run so far.' }),
  status: z
    .object({
      status: z.enum(TASK_STATUSES),
      current_turn: z.int(),
      task_id: z.string(),
      error: z.string().optional(),
      error_code: z.string().nullable().optional(),
    })
    .meta({ description: 'The run changed its status.' }),
};

/** Marks names and fields that only a later version sends. Readers accept them; the types of clients leave them out. */
const LATER = { 'x-later': true };
const LaterField = z.unknown().meta(LATER);

const toOpenSchema = (schema: z.ZodObject, more: z.ZodRawShape = {}) =>
  z
    .object({ ...more, ...schema.shape })
    .catchall(LaterField)
    .meta({ description: schema.description });

const at = { timestamp: Timestamp };

/**
 * Describes a log event by its name, with these fields besides its own. Every alternative has all of its fields: generators of clients
 * make no type of an intersection with alternatives.
 */
function describeLog(more: z.ZodRawShape): z.ZodUnion {
  const [first, ...others] = Object.entries(LOG_EVENTS).map(([name, schema]) =>
    toOpenSchema(schema, { event: z.literal(name), ...more }),
  );
  const later = z
    .looseObject({ event: z.string(), detail: z.string(), ...more })
    .meta({ description: 'An event of a later version', ...LATER });
  return z.union([z.discriminatedUnion('event', [first!, ...others]), later]);
}

export const LogData = describeLog({}).meta({
  id: 'LogData',
  description: 'A log event by its name. Versions to come add names: ignore those that you do not know',
}) as unknown as z.ZodType<LogData, LogData>;

/** Generators of clients need a name for whatever an alternative contains. */
const DATA_NAMES = { message: 'MessageData', message_delta: 'MessageDeltaData', usage: 'UsageData', status: 'StatusData' };

const toEvent = <T extends keyof typeof EVENT_TYPES>(type: T) =>
  z.object({
    type: z.literal(type),
    data: toOpenSchema(EVENT_TYPES[type]).meta({ id: DATA_NAMES[type] }) as unknown as (typeof EVENT_TYPES)[T],
    ...at,
  });

/** One frame of a workflow's event stream. */
export const RunEvent = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('log'), data: LogData, ...at }),
    toEvent('message'),
    toEvent('message_delta'),
    toEvent('usage'),
    toEvent('status'),
  ])
  .meta({
    id: 'RunEvent',
    description: 'The `data` line of a frame; the `id` line holds its number, which increases within a workflow',
  });
export type RunEvent = z.output<typeof RunEvent>;

/** A log event in the record of a run. */
export type LogEntry = LogData & { timestamp: string };
export const LogEntry = describeLog(at).meta({ id: 'LogEntry' }) as unknown as z.ZodType<LogEntry, LogEntry>;
