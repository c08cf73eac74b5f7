import { OutputSchema } from '../../../contracts/output-schema.ts';
import { AppError } from '../../../domain/errors.ts';
import type { Judge } from '../../../guardrails/judge.ts';
import type { Caller } from '../../../identity/caller.ts';

/** The requested format of the answer: a chat completion has the schema in `json_schema`, a response has it next to the type. */
interface AskedFormat {
  type: string;
  json_schema?: { schema?: unknown } | null | undefined;
  schema?: unknown;
}

interface FormatOrder {
  /** The parameter that contained the format. */
  param: string;
  format: AskedFormat | null | undefined;
  caller: Caller;
}

/**
 * Returns the schema that an answer has to match, from the requested format; undefined: any text. Refuses formats that are not
 * honoured.
 */
export async function parseOutputSchema(
  { judge }: { judge: Pick<Judge, 'findSchemaError'> },
  { param, format, caller }: FormatOrder,
): Promise<Record<string, unknown> | undefined> {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'object' };
  if (format.type !== 'json_schema')
    throw createRefusal(param, 'unsupported_value', `${param} has to be of type text, json_object or json_schema`);
  const read = OutputSchema.safeParse(format.json_schema?.schema ?? format.schema);
  if (!read.success) throw createRefusal(param, 'invalid_json_schema', read.error.issues[0]!.message);
  if (read.data.type !== 'object')
    throw createRefusal(param, 'invalid_json_schema', 'The schema has to be of type object: put another value into a property');
  const fault = await judge.findSchemaError(read.data, caller.key);
  if (fault) throw createRefusal(param, 'invalid_json_schema', fault);
  return read.data;
}

const createRefusal = (param: string, code: string, message: string) =>
  new AppError('invalid', message, { code, errors: [{ path: param, message }] });
