import type { AttachedFile } from '../../domain/attachments.ts';
import type { PromptParts } from '../../domain/conversation.ts';
import type { Definition } from '../../domain/definition.ts';
import type { VersionConfig } from '../resources/versions.ts';
import type { Evaluated, Seed } from './forks.ts';

/** Where a task stands in a conversation. */
export interface TurnPlace {
  /** The thread of which it is a turn; null: of none, as a fork, which still reads the turns before. */
  thread_id: string | null;
  /** True if the task begins the thread. */
  is_new?: true | undefined;
  /** The turn that it follows, and its number; task null and 0: it is a first one. Absent: the last of the branch in use. */
  follows?: { task_id: string | null; turn: number } | undefined;
  /** True if it takes no lane and waits for none: it runs next to the turns of its thread, and to the other runs of its workflow. */
  beside_lane?: true | undefined;
  /** True if it continues the thread as a conversation of /v1, which has it once it has completed. */
  in_conversation?: true | undefined;
}

export interface NewTask {
  task_id: string;
  /** The claim of its request's Idempotency-Key with which it is written; absent: it has no key. Only the last claim writes it. */
  claim?: number | undefined;
  workflow_id: string;
  owner: string;
  owner_login: string;
  prompt: string;
  /** The messages that the prompt was made of; absent: it is one message. */
  prompt_parts?: PromptParts | undefined;
  /** The files that its model is given; absent: none. */
  attachments?: readonly AttachedFile[] | undefined;
  /** Its place in a conversation; absent: it has none. */
  place?: TurnPlace | undefined;
  definition: Definition;
  /**
   * The settings of the workflow and its agent; null: unknown, as for a fork. They are stored with the version that belongs to
   * the definition.
   */
  config?: VersionConfig | null;
  /** True if the definition does not become a version of the workflow, because the request set a part of it. */
  is_trial?: boolean;
  on_busy: string;
  trigger: string;
  scheduled_agent_id?: string | null;
  service_key_id?: string | null;
  due_at?: Date | undefined;
  /** The caller's access token, sealed before it is stored. */
  caller_token: string | null;
  /** What the receipt of its message keeps, `content` if that is not the prompt; absent: it was not sent as a message. */
  receipt?: { when_busy: string; metadata: Record<string, string>; content?: string } | undefined;
  /** The start of a fork; absent for other tasks. */
  seed?: Seed | undefined;
  /** The start of an evaluation's run; absent for other tasks. */
  evaluated?: Evaluated | undefined;
}
