import type { Task, tasks } from '../../contracts/tasks.ts';
import type { ApiReply } from '../api/call.ts';
import { formatCount, formatDuration, formatNumber, formatRunCost, formatTokens } from '../ui/figures.ts';

export type ComparedRun = ApiReply<typeof tasks.get>;
type Step = NonNullable<ComparedRun['steps_detail']>[number];

export const MOST_COMPARED = 4;

export const compareUrl = (ids: readonly string[]) => `/runs/compare?ids=${ids.join(',')}`;

/** Parses the ids in an address: each once, and no more than can be compared. */
export const parseIds = (text: string | undefined) =>
  [...new Set((text ?? '').split(',').map((id) => id.trim()))].filter(Boolean).slice(0, MOST_COMPARED);

/** Returns `Run A`, `Run B` and so on. */
export const toRunLabel = (index: number) => `Run ${String.fromCharCode(65 + index)}`;

const listToolCalls = ({ steps_detail = [] }: ComparedRun) => steps_detail.flatMap(({ tool_calls }) => tool_calls);

export const formatElapsed = ({ elapsed_seconds }: Pick<Task, 'elapsed_seconds'>) =>
  formatDuration(elapsed_seconds === null ? null : elapsed_seconds * 1000);

/** Formats a step as one line; a dash if the run has no such step. */
export function stepLine(step: Step | undefined): string {
  if (!step) return '—';
  const { model, duration_ms, usage, tool_calls, error } = step;
  const facts = [
    model ?? 'default',
    formatDuration(duration_ms),
    `${formatNumber(usage.total_in + usage.total_out)} tokens`,
    formatRunCost(usage),
  ];
  return `${facts.join(' · ')}${error ? ` · ${error}` : ''}${tool_calls.length > 0 ? ` · ${toolLine(tool_calls)}` : ''}`;
}

/** Formats calls as `search, 2 × fetch`. */
function toolLine(calls: Step['tool_calls']): string {
  const counts = new Map<string, number>();
  for (const { name, failed } of calls) {
    const label = failed ? `${name} (failed)` : name;
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].map(([name, times]) => (times === 1 ? name : `${times} × ${name}`)).join(', ');
}

/** Describes a step without the figures that differ between any two runs. */
export const stepShape = (step: Step | undefined): string =>
  step ? JSON.stringify([step.model, step.error, toolLine(step.tool_calls)]) : '';

/** Formats the conversation as text, for a comparison by lines. */
export const transcriptText = ({ prompt, messages = [] }: ComparedRun): string => {
  const paragraphs = messages.map(({ role, kind, step, content, tool_calls }) => {
    const calls = (tool_calls ?? []).map(({ name, arguments: args }) => `→ ${name}(${args})`);
    return [`[${role}${kind === 'reply' ? '' : `, ${kind}`}, step ${step}]`, ...(content ? [content] : []), ...calls].join('\n');
  });
  const prompt_lines = messages.some(({ kind }) => kind === 'prompt') ? [] : [`[user, prompt]\n${prompt}`];
  return `${[...prompt_lines, ...paragraphs].join('\n\n')}\n`;
};

export const tokensLine = ({ usage }: Pick<Task, 'usage'>) => formatTokens(usage);

export const callsLine = (run: ComparedRun) => formatCount(listToolCalls(run).length, 'call');
