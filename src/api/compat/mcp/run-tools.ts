import { AppError } from '../../../domain/errors.ts';
import type { Caller } from '../../../identity/caller.ts';
import { toProblem } from '../../http/problems.ts';
import { type CompatRun, type CompatServices, type CompatTask, formatAnswer, type RunOrder, toRunError } from '../runs.ts';
import { listTools } from './tools.ts';

/** What the result of a call says, in every version of the protocol. */
export interface RunResult {
  content: { type: 'text'; text: string }[];
  structuredContent?: { answer: CompatTask['response']; task_id: string; workflow_id: string };
  isError?: true;
  [key: string]: unknown;
}

/** Returns what a call of a tool starts. Throws if the caller has no such tool, or if the prompt is none. */
export async function toRunOrder(
  services: CompatServices,
  { name, prompt }: { name: string; prompt: unknown },
  caller: Caller,
): Promise<RunOrder> {
  const tool = (await listTools(services, caller)).find((candidate) => candidate.name === name);
  if (!tool) throw new AppError('not_found', `There is no tool named ${name}; list the tools again`);
  if (typeof prompt !== 'string' || prompt.trim() === '') throw new AppError('invalid', 'prompt must be a non-empty string');
  return { model: tool.model, prompt };
}

/** Returns the result of a run that has ended. */
export function toRunResult({ task_id, workflow_id }: CompatRun, task: CompatTask): RunResult {
  const run_error = toRunError(task);
  if (run_error) return toErrorResult(run_error.message);
  return {
    content: [{ type: 'text', text: formatAnswer(task) }],
    structuredContent: { answer: task.response, task_id, workflow_id },
  };
}

export const toErrorResult = (text: string): RunResult => ({ content: [{ type: 'text', text }], isError: true });

/** Returns the refusal as one text, because a client sees neither status nor headers. */
export function formatRefusal(error: Error): string {
  const { detail, code, retry_after_s } = toProblem(error);
  return retry_after_s === undefined ? detail : `${detail} (${code}; try again in ${retry_after_s} s)`;
}
