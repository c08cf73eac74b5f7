import type { AttachedFile } from './attachments.ts';
import { isVendor, type PinnedProvider } from './definition.ts';
import { AppError } from './errors.ts';
import type { TranscriptMessage } from './transcript.ts';

/** The choices that a client makes instead of the model. */
export interface ToolChoices {
  /** The client's tools, one of which the model must call at the first exchange of the request. */
  forced_tools?: string[] | undefined;
  /** True if the model may make several calls at once; overrides the workflow's own setting. */
  parallel_tool_calls?: boolean | undefined;
}

/** What is kept with a result: the choices that a client sends with it, and the files that the tool returned. */
export interface ResultExtra extends Pick<ToolChoices, 'forced_tools'> {
  files?: AttachedFile[];
}

/** Returns the tools that the results of a step require the next exchange to call; undefined: none. */
export const findForcedTools = (messages: readonly TranscriptMessage[], step: number): string[] | undefined =>
  messages
    .filter((message) => message.step === step && message.role === 'tool')
    .map(({ extra }) => (extra as ResultExtra | null)?.forced_tools)
    .find((names) => names !== undefined);

/** Throws for choices that a run's runtime does not support: a session at the vendor supports none. */
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
