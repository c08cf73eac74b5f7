import type { ToolSpec } from '../domain/definition.ts';
import type { RunContext, ToolCall } from './source.ts';

type FittedArguments = { arguments: Record<string, unknown> } | { refusal: string };

/**
 * Converts the arguments of a call to fit the tool's JSON Schema: text that holds a number becomes the number, and so on. If that
 * fails, the call is refused with a sentence that names the field, so that the model can try again.
 */
export type FitArguments = (
  tool: Pick<ToolSpec, 'name' | 'parameters'>,
  call: Pick<ToolCall, 'arguments'> & { run: Pick<RunContext, 'owner'> },
) => Promise<FittedArguments>;
