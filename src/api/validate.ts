import type { z } from 'zod';
import { isStorable, type Warning } from '../contracts/common.ts';
import { type FieldError, unprocessable } from '../domain/errors.ts';
import { unknownFields } from './fields.ts';
import { respelt } from './spellings.ts';
import { shapeOf } from './warnings.ts';

const DEEPEST = 64;

interface Judging {
  /** What the value is, such as `body`: the path of what is wrong with it as a whole. */
  what: string;
  /** Its fields may be sent though only the service sets them. */
  settled?: z.ZodType | null;
  /** Whether it changes something: then a null is no field left out. */
  keeps_nulls?: boolean;
  /** Path of the value in what was sent. */
  within?: string;
}

export interface Judged<T> {
  value: T;
  /** About fields that nothing reads. */
  warnings: Warning[];
}

/** The parsed value, or a 422 that names every field that is wrong. */
export const validated = <S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> =>
  judged(schema, value, { what }).value;

/** The parsed value with doubts about what it leaves aside; a 422 names every field that is wrong, or unknown to what protects. */
export function judged<S extends z.ZodType>(schema: S, given: unknown, judging: Judging): Judged<z.output<S>> {
  const { within = '' } = judging;
  const placed = ({ path, message }: FieldError): FieldError => ({ path: [within, path].filter(Boolean).join('.'), message });
  const refused = findUnstorable(given, [], 0);
  if (refused) throw unprocessable([placed(refused)]);
  const value = respelt(schema, given, { keeps_nulls: judging.keeps_nulls ?? false });
  const result = schema.safeParse(value);
  const unknown = unknownFields(schema, value).filter(({ path }) => !(path in shapeOf(judging.settled ?? null)));
  const errors = [...errorsOf(result, judging.what), ...unknown.filter((field) => field.refused)];
  if (!result.success || errors.length > 0) throw unprocessable(errors.map(placed));
  return { value: result.data, warnings: unknown.map(placed) };
}

/** What filters one list or another: whoever sends it to a list that has no such filter would be given everything. */
const FILTERS = new Set(
  ['q', 'tag', 'tags', 'status', 'workflow_id', 'agent_id', 'since', 'scope', 'source_id', 'content_type'].concat([
    'guardrail_type',
    'provider_id',
    'task_id',
    'include',
    'dry_run',
    'force',
  ]),
);

/** A filter that nothing reads is a doubt too; one that is nearly the name of another is refused. */
export function judgedQuery<S extends z.ZodType>(schema: S, value: unknown): Judged<z.output<S>> {
  const { value: query, warnings } = judged(schema, value, { what: 'query' });
  const meant = warnings.filter(({ path, message }) => FILTERS.has(path) || message.includes('did you mean'));
  if (meant.length > 0) throw unprocessable(meant);
  return { value: query, warnings };
}

function errorsOf(result: z.ZodSafeParseResult<unknown>, what: string): FieldError[] {
  if (result.success) return [];
  // What nobody knows is named with the nearest name instead.
  const issues = result.error.issues.filter(({ code }) => code !== 'unrecognized_keys');
  return issues.map(({ path, message }) => ({ path: path.join('.') || what, message }));
}

/** Text that the database cannot hold is refused at the door, as is nesting that no resource needs. `path` is where it looks, and is put back. */
function findUnstorable(value: unknown, path: string[], depth: number): FieldError | null {
  if (depth > DEEPEST) return { path: path.slice(0, 4).join('.'), message: `Nested more than ${DEEPEST} levels deep` };
  if (typeof value === 'string') return isStorable(value) ? null : unstorable(path);
  if (typeof value !== 'object' || value === null) return null;
  for (const key of Object.keys(value)) {
    if (!isStorable(key)) return unstorable([...path, 'key']);
    path.push(key);
    const found = findUnstorable((value as Record<string, unknown>)[key], path, depth + 1);
    if (found) return found;
    path.pop();
  }
  return null;
}

const unstorable = (path: readonly string[]): FieldError => ({
  path: path.join('.'),
  message: 'Holds a null character or broken Unicode',
});
