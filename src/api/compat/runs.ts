import { createHash } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import type { SetCallSettings } from '../../contracts/call-settings.ts';
import { WorkflowCreate } from '../../contracts/workflows.ts';
import { conversationLocked, type PromptParts } from '../../domain/conversation.ts';
import type { ToolSpec } from '../../domain/definition.ts';
import { AppError, foreign } from '../../domain/errors.ts';
import { piecesOfText } from '../../domain/pieces.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { ToolChoices } from '../../domain/tool-choice.ts';
import { isUuid } from '../../domain/uuid.ts';
import { type FollowSource, follow, followInParts } from '../../events/follow.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { Engine } from '../../temporal/client/engine.ts';
import type { PromptOrder } from '../../temporal/start/new-task.ts';
import type { Dispatch } from '../../temporal/start/orders.ts';
import { getExisting } from '../http/crud.ts';
import type { AskedFile, Attach } from '../routes/attachments.ts';

export interface CompatServices {
  store: Store;
  following: FollowSource;
  dispatch: Dispatch;
  attach: Attach;
  judge: Pick<Judge, 'findSchemaError'>;
  engine: Pick<Engine, 'decide'>;
  /** True if /v1 refuses parameters that change the agent's settings, and unknown ones (COMPAT_STRICT). */
  strict_parameters: boolean;
}

/** A run started through a compatible API. */
export interface CompatRun {
  task_id: string;
  workflow_id: string;
}

/** Takes the place of a run among the turns of a conversation, before it begins. */
export type Place = (target: {
  workflow_id: string;
  agent: { id: string; name: string };
}) => Promise<Pick<PromptOrder, 'thread_id' | 'follows' | 'beside_lane' | 'in_conversation' | 'given_before'>>;

export interface RunOrder extends ToolChoices {
  model: string;
  prompt: string;
  /** The messages that make up the prompt. */
  prompt_parts?: PromptParts | undefined;
  /** The files that the model is given with the prompt; absent: none. */
  files?: readonly AskedFile[] | undefined;
  /** Takes its place in a conversation; absent: it has none. */
  place?: Place | undefined;
  /** Instructions for the model in this run, after the agent's system prompt. */
  instructions?: string | undefined;
  reasoning_effort?: string | null | undefined;
  /** The settings of the model calls, instead of the workflow's own. */
  call_settings?: SetCallSettings | undefined;
  /** The schema that the answer has to match, instead of the workflow's own schema. */
  output_schema?: Record<string, unknown> | undefined;
  /** Tools whose calls the client executes. */
  client_tools?: ToolSpec[] | undefined;
  /** The id of the task; if a task with this id exists, that run is continued. */
  task_id?: string | undefined;
  /** The claim of the request's Idempotency-Key; absent: it has none. */
  claim?: number | undefined;
}

export type CompatTask = NonNullable<Awaited<ReturnType<Store['tasks']['find']>>>;

/** Starts a run of `model`: the id of a workflow, or the name of an agent, which gets a workflow for this run only. */
export async function startRun(
  services: CompatServices,
  { model, task_id: reserved_id, claim, files = [], place, ...asked }: RunOrder,
  caller: Caller,
): Promise<CompatRun> {
  const existing_run = await findStartedRun(services, reserved_id);
  if (existing_run) return existing_run;
  const { key: owner, login: owner_login, access_token } = caller;
  const target = await resolveModel(services.store, model, caller);
  const attachments = await services.attach(files, owner);
  const workflow_id = target.workflow ? target.workflow.id : await createRunWorkflow(services.store, target.agent, { caller });
  const getAgent = getExisting(services.store.agents, 'agent');
  const placed = place && (await place({ workflow_id, agent: target.agent ?? (await getAgent(target.workflow.agent_id)) }));
  const task_id = reserved_id ?? uuid();
  const order = {
    ...asked,
    attachments,
    ...placed,
    ...(placed?.in_conversation ? { on_busy: 'reject' } : {}),
    task_id,
    claim,
    workflow_id,
    owner,
    owner_login,
    access_token,
    service_key_id: caller.service_key?.id,
    trigger: 'api',
  };
  await services.dispatch.prompt(order).catch((error: unknown) => {
    const is_taken = placed?.in_conversation && error instanceof AppError && error.code === 'workflow_busy';
    throw is_taken ? conversationLocked() : error;
  });
  return { task_id, workflow_id };
}

/** Returns the run that an earlier attempt of the same request started. */
export async function findStartedRun({ store }: CompatServices, task_id: string | undefined): Promise<CompatRun | null> {
  const task = task_id ? await store.tasks.find(task_id) : null;
  return task && { task_id: task.id, workflow_id: task.workflow_id };
}

/** Finds what `model` names: one of the caller's workflows by its id, or an agent by its name. */
export async function resolveModel(store: Store, model: string, caller: Caller) {
  if (isUuid(model)) {
    const workflow = await store.workflows.find(model);
    if (workflow && workflow.owner_key !== caller.key) throw foreign('workflow');
    if (workflow) return { workflow };
  }
  const { items } = await store.agents.list({ limit: 1 }, { name: model });
  const [agent] = items;
  if (agent) return { agent };
  const message = `There is no agent named ${model} and no workflow with this id; GET /v1/models lists the models`;
  throw new AppError('not_found', message, { code: 'model_not_found' });
}

/** Creates a workflow for one run, or for one thread, that names an agent. */
export async function createRunWorkflow(
  store: Store,
  agent: { id: string; name: string },
  { caller, remember = 'none' }: { caller: Caller; remember?: 'none' | 'thread' },
): Promise<string> {
  const values = WorkflowCreate.parse({
    agent_id: agent.id,
    title: `${agent.name} (API)`,
    output_format: 'markdown',
    max_turns: API_TURNS,
    remember,
  });
  const new_workflow = { ...values, single_use: true, owner: caller.key, owner_login: caller.login };
  return (await store.workflows.create(new_workflow)).id;
}

/** The tool call limit of a run whose workflow sets none. */
const API_TURNS = 50;

/** Streams the events of a run from its beginning. */
export const streamRunEvents = ({ following }: Pick<CompatServices, 'following'>, run: CompatRun, signal: AbortSignal) =>
  follow(following, { ...run, after: 0 }, signal);

const hashText = (text: string) => createHash('sha256').update(text, 'utf16le').digest('hex');

/** The characters at the end of a text that are kept. */
const TAIL = 16 * 1024;
/** Matches the marks after which an answer ends: they do not belong to it. */
const END_MARK = /<\|\w{1,40}\|>\s{0,40}$/;

/** True if the last part of a text is another, apart from a mark at its end. */
function endsWithPart(text: string, part: string): boolean {
  const shown = text.replace(END_MARK, '');
  return part !== '' && shown.endsWith(part) && /^$|[\s>\]▷]$/.test(shown.slice(0, -part.length));
}

/** Records the length and the digest of a text, of which only the end is kept. */
export function createTextDigest() {
  let hash = createHash('sha256');
  let length = 0;
  let tail = '';
  /** Returns what a text adds to the recorded one; null if it does not begin with it. */
  const findContinuation = (text: string): string | null =>
    hashText(text.slice(0, length)) === hash.copy().digest('hex') ? text.slice(length) : null;
  return {
    add(text: string) {
      hash.update(text, 'utf16le');
      length += text.length;
      tail += text;
      if (tail.length > 2 * TAIL) tail = tail.slice(-TAIL);
    },
    isEmpty: () => length === 0,
    findContinuation,
    /** Returns what a text adds to the recorded one; null if it does not begin with it and is not its end, after thinking. */
    findRest: (text: string): string | null => findContinuation(text) ?? (endsWithPart(tail, text) ? '' : null),
    clear() {
      hash = createHash('sha256');
      length = 0;
      tail = '';
    },
  };
}

/** The longest text that is sent in one piece, in characters. */
export const PIECE = 16 * 1024;

/** Returns the definition that the run was pinned with. */
export async function getDefinition({ store }: CompatServices, { task_id }: CompatRun) {
  const { definition_hash } = await getExisting(store.tasks, 'run')(task_id);
  return store.definitions.get(definition_hash);
}

/**
 * Streams everything that a run's model writes, apart from what a guardrail withheld. Sent text is not kept: a stream may be slow, and its
 * text long.
 */
export async function* streamModelText(
  services: Pick<CompatServices, 'following'>,
  run: CompatRun,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let is_withheld = false;
  let has_text = false;
  /** Digests of the messages sent so far, and the number of them that have arrived again since the stream was reset. */
  const sent_digests: string[] = [];
  let again: number | null = null;
  let reset = false;
  const unfinished = createTextDigest();
  const gap = () => (has_text && unfinished.isEmpty() ? '\n\n' : '');
  for await (const { type, data } of streamRunEvents(services, run, signal)) {
    if (type === 'message_delta' && !reset) {
      const { delta } = data;
      yield* piecesOfText(gap() + delta, PIECE);
      unfinished.add(delta);
      has_text ||= delta !== '';
    }
    // Text already sent cannot be withdrawn, so after a reset wait for the whole message.
    if (type === 'log' && data.event === 'attempt_reset') reset = !unfinished.isEmpty();
    if (type === 'log' && data.event === 'stream_reset') {
      again = 0;
      reset = true;
    }
    // The message behind it is the reason, which is the error of the run.
    if (type === 'log' && data.event === 'guardrail_blocked') is_withheld = true;
    if (type === 'message' && data.role === 'assistant' && !is_withheld) {
      const { content } = data;
      const digest = hashText(content);
      if (again !== null && sent_digests[again] === digest) {
        again += 1;
        continue;
      }
      again = null;
      sent_digests.push(digest);
      const rest = unfinished.findRest(content) ?? `\n\n${content}`;
      if (rest) yield* piecesOfText(gap() + rest, PIECE);
      has_text ||= rest !== '';
      unfinished.clear();
      reset = false;
    }
  }
}

/** The number of the last event seen, higher than any: events recorded before are not loaded again. */
const SEEN_ALL = Number.MAX_SAFE_INTEGER;

/** Waits until a run ends; if the signal aborts first, throws its reason. */
export async function waitForEnd({ store, following }: CompatServices, run: CompatRun, signal: AbortSignal): Promise<CompatTask> {
  for await (const _ of followInParts(following, { ...run, after: SEEN_ALL }, signal));
  signal.throwIfAborted();
  return getExisting(store.tasks, 'run')(run.task_id);
}

export const hasEnded = ({ status }: CompatTask) => isTerminal(status);

/** Returns the response of a run as text. */
export const formatAnswer = ({ response }: { response: unknown }): string =>
  typeof response === 'string' ? response : response === null ? '' : JSON.stringify(response);

/** Returns the error of a run without a response. */
export const toRunError = ({ status, error, error_code }: CompatTask) =>
  status === 'completed'
    ? null
    : { message: error ?? `The run was ${status}`, type: 'run_failed', code: error_code ?? status, param: null };
