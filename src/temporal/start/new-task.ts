import type { AttachedFile } from '../../domain/attachments.ts';
import type { Definition } from '../../domain/definition.ts';
import type { LoopState } from '../../domain/run-loop.ts';
import type { VersionConfig } from '../../store/resources/versions.ts';
import type { Evaluated, Seed } from '../../store/runs/forks.ts';
import type { NewTask, TurnPlace } from '../../store/runs/new-task.ts';
import type { AskedOfRun } from '../../store/runs/pin.ts';

/** What a conversation was given since its last turn. */
export interface GivenBefore {
  /** Everything that the model reads of it, apart from its files. */
  text: string;
  text_files: readonly AttachedFile[];
  /** Adds it to the conversation. */
  write(): Promise<void>;
}

export interface PromptOrder extends AskedOfRun, Pick<NewTask, 'prompt_parts' | 'attachments' | 'receipt'> {
  /** The id of the task, if the request provides one. An existing task with this id counts as this one. */
  task_id?: string | undefined;
  /** The claim of the request's Idempotency-Key; absent: it has none. A try that another one has overtaken writes nothing. */
  claim?: number | undefined;
  workflow_id: string;
  owner: string;
  owner_login: string;
  prompt: string;
  on_busy?: string | undefined;
  /** True if a person waits for the answer: if a budget is used up, the prompt is refused, not kept waiting. */
  is_awaited?: true | undefined;
  /** The thread that it continues; `new`: it begins one, which has its id. Absent: none. */
  thread_id?: string | undefined;
  /** The turn that it follows; absent: the last one of the thread's branch in use, or none. */
  follows?: TurnPlace['follows'];
  /** True if it takes no lane and waits for none. */
  beside_lane?: TurnPlace['beside_lane'];
  in_conversation?: TurnPlace['in_conversation'];
  /** Written before the run, once guardrails have accepted it with the prompt; absent: nothing. */
  given_before?: GivenBefore | undefined;
  trigger: string;
  scheduled_agent_id?: string | null;
  /** The service key that asks for the run; absent or null: none. */
  service_key_id?: string | null | undefined;
  /** The due time of the schedule: if the installation was restored since, the task may have run before. */
  due_at?: Date | undefined;
  /** The caller's access token; sealed with the task if its model is the default runtime's, and opened only for a call of that. */
  access_token: string | null;
}

/** The definition and state with which a task is written and its run starts. */
export interface Begins {
  definition: Definition;
  config?: VersionConfig;
  seed?: Seed;
  evaluated?: Evaluated;
  state?: LoopState;
}

/** With these options, a run is not one of the workflow as it is saved. */
const OVERRIDES = [
  'instructions',
  'output_schema',
  'client_tools',
  'parallel_tool_calls',
  'call_settings',
  'without_tools',
] as const;

export function newTask(
  order: PromptOrder & { task_id: string },
  { definition, config, on_busy, seed, evaluated }: Begins & { on_busy: string },
): NewTask {
  const {
    task_id,
    workflow_id,
    prompt,
    owner,
    owner_login,
    trigger,
    scheduled_agent_id = null,
    service_key_id = null,
    access_token,
  } = order;
  return {
    task_id,
    claim: order.claim,
    workflow_id,
    prompt,
    prompt_parts: order.prompt_parts,
    attachments: order.attachments,
    receipt: order.receipt,
    place: toPlace(order),
    owner,
    owner_login,
    trigger,
    scheduled_agent_id,
    service_key_id,
    due_at: order.due_at,
    definition,
    config: config ?? null,
    is_trial: OVERRIDES.some((option) => order[option] !== undefined),
    on_busy: order.on_busy ?? on_busy,
    // The token is used for no other model.
    caller_token: definition.provider === null ? access_token : null,
    seed,
    evaluated,
  };
}

type AskedPlace = Pick<PromptOrder, 'thread_id' | 'follows' | 'beside_lane' | 'in_conversation'> & { task_id: string };

function toPlace({ thread_id, task_id, follows, beside_lane, in_conversation }: AskedPlace): TurnPlace | undefined {
  if (thread_id === 'new') return { thread_id: task_id, is_new: true };
  return thread_id === undefined && follows === undefined
    ? undefined
    : { thread_id: thread_id ?? null, follows, beside_lane, in_conversation };
}
