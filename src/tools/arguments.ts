import type { ToolSpec } from '../domain/definition.ts';
import type { RunContext, ToolCall } from './source.ts';

type FittedArguments = { arguments: Record<string, unknown> } | { refusal: string };

/**
 * Makes the arguments of a call fit the tool's own JSON Schema: text that holds a number becomes the number, and so on. What cannot be
 * made to fit is refused with a sentence that names the field, for the model to try again.
 */
export type FitArguments = (
  tool: Pick<ToolSpec, 'name' | 'parameters'>,
  call: Pick<ToolCall, 'arguments'> & { run: Pick<RunContext, 'owner'> },
) => Promise<FittedArguments>;
