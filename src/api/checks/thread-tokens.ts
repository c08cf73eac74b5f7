import type { FastifyRequest } from 'fastify';
import { Id } from '../../contracts/common.ts';
import { AppError } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';

type Opened = 'thread' | 'task' | 'task_list' | 'stream' | 'file';

/** The operations that a token of a thread opens, and what has to be of its thread. Every other one is refused. */
export const OPEN_TO_THREAD_TOKENS: Readonly<Record<string, Opened>> = {
  get_thread: 'thread',
  send_message: 'thread',
  list_messages: 'thread',
  get_message: 'thread',
  withdraw_message: 'thread',
  update_thread: 'thread',
  send_ui_message: 'thread',
  resume_ui_message: 'thread',
  resume_ui_chat: 'thread',
  list_ui_messages: 'thread',
  run_ag_ui: 'thread',
  connect_ag_ui: 'thread',
  list_tasks: 'task_list',
  get_task: 'task',
  get_task_progress: 'task',
  get_task_steps: 'task',
  stop_task: 'task',
  decide_approval: 'task',
  decide_reconciliation: 'task',
  decide_continuity: 'task',
  answer_question: 'task',
  stream_workflow: 'stream',
  get_attachment_content: 'file',
};

type Services = { store: Pick<Store, 'tasks' | 'threadTokens'> };

/** Throws if the caller has the token of a thread, and the request is about anything else, or comes from another site's page. */
export const refuseOtherThanThread =
  ({ store }: Services) =>
  async ({ caller, headers: { origin }, routeOptions, params, query }: FastifyRequest): Promise<void> => {
    const { thread_token } = caller;
    if (!thread_token) return;
    const { thread_id, origins } = thread_token;
    if (origin !== undefined && origins.length > 0 && !origins.includes(origin))
      throw new AppError('forbidden', `Pages of ${origin} may not use this token; create one with this origin`, {
        code: 'foreign_origin',
      });
    const { id = '' } = params as { id?: string };
    const named = query as { thread_id?: unknown; task_id?: unknown };
    const isOfThread = async (task_id: unknown) =>
      Id.safeParse(task_id).success && (await store.tasks.find(task_id as string))?.thread_id === thread_id;
    const opened = OPEN_TO_THREAD_TOKENS[routeOptions.config.operation ?? ''];
    const checks: Record<Opened, () => boolean | Promise<boolean>> = {
      thread: () => id === thread_id,
      task: () => isOfThread(id),
      task_list: () => named.thread_id === thread_id,
      stream: () => isOfThread(named.task_id),
      file: () => Id.safeParse(id).success && store.threadTokens.hasFile(thread_id, id),
    };
    if (opened && (await checks[opened]())) return;
    throw new AppError(
      'forbidden',
      'This token opens one thread and its turns, and nothing else; use an access token or a service key',
      {
        code: 'thread_token_only',
      },
    );
  };
