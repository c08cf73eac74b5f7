import { isVendor, type PinnedProvider } from './definition.ts';
import { AppError } from './errors.ts';
import type { TranscriptMessage } from './transcript.ts';

/** What a client decides instead of the model. */
export interface ToolChoices {
  /** Tools of the client, of which the model must call one at the first exchange of the request. */
  forced_tools?: string[] | undefined;
  /** Whether the model may make several calls at once, instead of the workflow's own setting. */
  parallel_tool_calls?: boolean | undefined;
}

/** What a client asks for with the result of its call. */
export type ResultExtra = Required<Pick<ToolChoices, 'forced_tools'>>;

/** What the results of a step ask of the exchange after it; undefined: nothing. */
export const findForcedTools = (messages: readonly TranscriptMessage[], step: number): string[] | undefined =>
  messages
    .filter((message) => message.step === step && message.role === 'tool')
    .map(({ extra }) => (extra as Partial<ResultExtra> | null)?.forced_tools)
    .find((names) => names !== undefined);

/** Refuses choices for a run whose runtime takes none: sessions at the vendor. */
export function refuseChoices(
  provider: Pick<PinnedProvider, 'name' | 'provider_type' | 'base_url'> | null,
  { forced_tools, parallel_tool_calls }: ToolChoices,
): void {
  if (!provider || !isVendor(provider)) return;
  const path = forced_tools ? 'tool_choice' : parallel_tool_calls !== undefined ? 'parallel_tool_calls' : null;
  if (path === null) return;
  const message =
    `Runs of the provider ${provider.name} are sessions at the vendor, which take no ${path}; leave it out, ` +
    'or use a provider of type anthropic_messages';
  throw new AppError('invalid', message, { code: 'unsupported_value', errors: [{ path, message }] });
}
