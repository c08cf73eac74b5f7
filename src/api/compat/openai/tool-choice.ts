import type { ToolSpec } from '../../../domain/definition.ts';
import { AppError } from '../../../domain/errors.ts';

interface NamedChoice {
  type?: unknown;
  name?: unknown;
  function?: { name?: unknown } | null;
}

/**
 * Returns the functions of the request of which the model must call one; undefined: the model decides. Refuses choices that are
 * not honoured.
 */
export function parseForcedFunctions(tool_choice: unknown, functions: readonly ToolSpec[] | undefined): string[] | undefined {
  const choice = tool_choice ?? 'auto';
  if (choice === 'auto' || choice === 'none') return undefined;
  const names = (functions ?? []).map(({ name }) => name);
  const { type, name, function: function_choice } = (typeof choice === 'object' ? choice : {}) as NamedChoice;
  if (choice !== 'required' && type !== 'function')
    throw createRefusal('unsupported_value', 'tool_choice is auto, none, required, or names a function');
  if (names.length === 0)
    throw createRefusal('unsupported_value', 'This tool_choice needs tools: send the functions of which the model must call one');
  if (choice === 'required') return names;
  const forced_name = function_choice?.name ?? name;
  const match = names.find((one) => one === forced_name);
  if (match === undefined) throw createRefusal('invalid_value', `tool_choice names ${forced_name}, which is not among tools`);
  return [match];
}

const createRefusal = (code: string, message: string) =>
  new AppError('invalid', message, { code, errors: [{ path: 'tool_choice', message }] });
