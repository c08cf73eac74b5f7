import type { z } from 'zod';
import { workflows } from '../../contracts/workflows.ts';
import { conflict, type FieldError, foreign, notFound, unprocessable } from '../../domain/errors.ts';
import { type FollowSource, followAfterLook, type Look } from '../../events/follow.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { WiredWorkflow } from '../../store/resources/workflows.ts';
import type { Engine } from '../../temporal/client/engine.ts';
import type { Schedules } from '../../temporal/client/schedules.ts';
import type { Dispatch } from '../../temporal/start/orders.ts';
import { findModelUse, listEffortWarnings, listWorkflowModelWarnings } from '../checks/model-warnings.ts';
import { createTokenChecks } from '../checks/needs.ts';
import { getOwnThread, getOwnWorkflow, refuseWithoutThreads } from '../checks/owned.ts';
import type { LimitChecks } from '../checks/priced-limits.ts';
import { listReferenceErrors } from '../checks/references.ts';
import { listToolTokenWarnings } from '../checks/tool-tokens.ts';
import { listWorkflowTagWarnings } from '../checks/unjoined.ts';
import { AcceptedReply } from '../http/accepted-reply.ts';
import { createOnce } from '../http/crud.ts';
import { createSharedFrames } from '../http/event-frames.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';
import { type Attach, parseAttachments } from './attachments.ts';
import { getRequestedState, listStatusWarnings, prepareDeletion } from './workflow-states.ts';

interface Services {
  store: Store;
  attach: Attach;
  following: FollowSource;
  dispatch: Dispatch;
  engine: Engine;
  schedules: Schedules;
  judge: Pick<Judge, 'findSchemaError'>;
  dollar_limits: LimitChecks;
}

/** Lists the stored tokens that a workflow names. */
const listWorkflowTokens = ({
  repo_token_name,
  credential_overrides,
}: Pick<WiredWorkflow, 'repo_token_name' | 'credential_overrides'>) => [
  { path: 'repo_token_name', token: repo_token_name },
  ...Object.entries(credential_overrides as Record<string, string>).map(([name, token]) => ({
    path: `credential_overrides.${name}`,
    token,
  })),
];

const REFERENCES = { agent_id: 'agent', skill_ids: 'skill', guardrail_ids: 'guardrail' } as const;

export function workflowRoutes(api: Api, services: Services): void {
  const { store, dollar_limits } = services;
  const getOwn = getOwnWorkflow(store);
  const tokenChecks = createTokenChecks(store, listWorkflowTokens);
  const withLastRun = async (workflow: WiredWorkflow, caller: Caller) => {
    const [record = workflow] = await tokenChecks.addMissingTokens([workflow], caller);
    return { ...record, ...(await store.workflows.lastRun(workflow.last_task_id)) };
  };
  const current = async ({ params }: { params: unknown }, caller: Caller) =>
    toReply(workflows.get.reply, await withLastRun(await getOwn((params as { id: string }).id, caller), caller));

  mount(api, workflows.list, async ({ query }, caller) => {
    const page = await store.workflows.list({ ...query, owner: caller.key });
    return { ...page, items: await tokenChecks.addMissingTokens(page.items, caller) };
  });
  mount(api, workflows.get, async ({ params: { id }, warn }, caller) => {
    const workflow = await getOwn(id, caller);
    warn(...(await listWorkflowTagWarnings(store, workflow)), ...(await dollar_limits.listWarnings(toLimited(workflow))));
    warn(...(await dollar_limits.budgets.listOfWorkflow(workflow, caller)));
    warn(...(await listWorkflowModelWarnings(store, workflow)));
    const { custom_tool_ids = [] } = (await store.agents.find(workflow.agent_id)) ?? {};
    warn(...(await listToolTokenWarnings(store, { custom_tool_ids, overrides: workflow.credential_overrides }, caller)));
    return withLastRun(workflow, caller);
  });
  mount(api, workflows.create, async ({ body, reserved_id: id, warn }, caller) => {
    const workflow = await createOnce(id, store.workflows.find, async () => {
      await refuseInvalid(services, body, { caller });
      await dollar_limits.refuseLimit(body);
      warn(
        ...(await tokenChecks.listWarnings(body, caller)),
        ...(await listWorkflowTagWarnings(store, { ...body, owner: caller.key })),
        ...(await listWorkflowModelWarnings(store, body)),
        ...(await dollar_limits.budgets.listOfWorkflow(body, caller)),
      );
      const values = { ...body, owner: caller.key, owner_login: caller.login, ...(id ? { id } : {}) };
      const new_workflow = await store.workflows.create(values, caller.key);
      await store.versions.note(new_workflow.id, caller);
      return new_workflow;
    });
    return withLastRun(workflow, caller);
  });
  mount(
    api,
    workflows.update,
    async ({ params: { id }, body: { status, enabled, ...values }, warn }, caller) => {
      const before = await getOwn(id, caller);
      const sent_back = listStatusWarnings(status, before, { whole: values.agent_id !== undefined });
      await refuseInvalid(services, values, { caller, before });
      const wanted_values = { ...before, ...values };
      warn(...(await dollar_limits.checkChange(toLimited(before), toLimited(wanted_values))));
      warn(...(await tokenChecks.listWarnings(wanted_values, caller)), ...(await listWorkflowTagWarnings(store, wanted_values)));
      warn(...(await listWorkflowModelWarnings(store, wanted_values)));
      warn(...(await dollar_limits.budgets.listOfWorkflow(wanted_values, caller)));
      warn(...sent_back);
      const requested_state = getRequestedState({ status, enabled }, before);
      if (requested_state) await store.workflows.switch(id, requested_state);
      const after = await store.workflows.update(id, values, caller.key);
      await store.versions.note(id, caller);
      if (values.budget !== undefined) await raiseBudget(services, after);
      await settleQueue(services, after, requested_state);
      return withLastRun(after, caller);
    },
    { current },
  );
  mount(
    api,
    workflows.remove,
    async ({ params: { id }, query: { force } }, caller) => {
      const workflow = await getOwn(id, caller);
      await prepareDeletion(services, workflow, force);
      await store.workflows.remove(id);
    },
    { current },
  );
  skillRoutes(api, store, withLastRun);
  runRoutes(api, services);
}

/** Reads what decides whether the limit of a stored workflow can hold. */
const toLimited = ({ agent_id, model, budget }: Pick<WiredWorkflow, 'agent_id' | 'model' | 'budget'>) => ({
  agent_id,
  model,
  budget: budget as { max_cost_usd: number | null } | null,
});

/** Ends or keeps the waiting runs of a workflow that is switched off, by its setting; starts them once it is switched on. */
async function settleQueue(
  { dispatch }: Services,
  { id, status, on_inactive }: WiredWorkflow,
  requested_state: 'active' | 'inactive' | null,
): Promise<void> {
  if (status === 'inactive' && on_inactive === 'halt') await dispatch.endQueue(id);
  if (requested_state === 'active') await dispatch.resumeQueue(id);
}

/** Gives the runs that are paused, of which each thread may have one, the workflow's new budget; others keep the one they started with. */
async function raiseBudget({ store, engine }: Services, { id, budget }: WiredWorkflow): Promise<void> {
  for (const task_id of await store.tasks.listWaitingIds(id)) {
    await store.tasks.setBudget(task_id, budget);
    await engine.raise(task_id);
  }
}

function skillRoutes(
  api: Api,
  store: Store,
  withLastRun: (workflow: WiredWorkflow, caller: Caller) => Promise<z.input<typeof workflows.get.reply>>,
): void {
  const getOwn = getOwnWorkflow(store);
  const setSkills = async (id: string, skill_ids: string[], caller: Caller) => {
    const workflow = await store.workflows.update(id, { skill_ids });
    await store.versions.note(id, caller);
    return withLastRun(workflow, caller);
  };
  mount(api, workflows.installSkill, async ({ params: { id, skill_id } }, caller) => {
    const workflow = await getOwn(id, caller);
    if ((await store.missing('skill', [skill_id])).length > 0) throw notFound('skill', skill_id);
    return setSkills(id, [...workflow.skill_ids.filter((other) => other !== skill_id), skill_id], caller);
  });
  mount(api, workflows.removeSkill, async ({ params: { id, skill_id } }, caller) => {
    const workflow = await getOwn(id, caller);
    if (!workflow.skill_ids.includes(skill_id)) throw notFound('skill of this workflow', skill_id);
    const skill_ids = workflow.skill_ids.filter((other) => other !== skill_id);
    return setSkills(id, skill_ids, caller);
  });
}

function runRoutes(api: Api, { store, attach, following, dispatch }: Services): void {
  const getOwn = getOwnWorkflow(store);
  const toFrames = createSharedFrames();
  mount(api, workflows.prompt, async ({ params: { id }, body, reserved_id: task_id, claim, note, warn }, caller) => {
    const { prompt = JSON.stringify(body.request), reasoning_effort, on_busy } = body;
    const { key: owner, login: owner_login, access_token } = caller;
    const workflow = await getOwn(id, caller);
    if (reasoning_effort) warn(...listEffortWarnings(await findModelUse(store, workflow), reasoning_effort));
    const order = {
      task_id,
      claim,
      workflow_id: id,
      owner,
      owner_login,
      access_token,
      service_key_id: caller.service_key?.id,
      prompt,
      attachments: await attach(parseAttachments(body.attachments), owner),
      reasoning_effort,
      on_busy,
      thread_id: await findThread(store, { workflow, thread_id: body.thread_id }, caller),
      trigger: 'prompt',
    };
    const sent = await dispatch.send(order);
    if ('steered' in sent) return new AcceptedReply((await store.messages.find(sent.steered.id))!);
    const { warnings, ...new_run } = sent.started;
    note(...warnings.map((message) => ({ path: 'prompt', message })));
    return { ...new_run, stream_url: formatStreamUrl(new_run) };
  });
  mount(api, workflows.halt, async ({ params: { id } }, caller) => {
    const { active_task_id } = await getOwn(id, caller);
    if (!active_task_id) throw conflict('No run of this workflow is in progress', 'nothing_running');
    await dispatch.halt(active_task_id);
    return { status: 'halt_requested' as const, workflow_id: id, task_id: active_task_id };
  });
  mount(api, workflows.stream, async ({ params: { id }, query: { after, task_id }, last_event_id, signal }, caller) => {
    // A browser that reconnects sends the original URL, and the number of the last event it has seen.
    const last_seen = parseNumber(last_event_id) ?? after;
    const start = last_seen ?? (task_id ? 0 : await store.events.beforeLastRun(id));
    const look: Look = async (place) => {
      const stream_state = await store.events.loadStreamState(id, place);
      if (!stream_state) throw notFound('workflow', id);
      if (stream_state.owner !== caller.key) throw foreign('workflow');
      if (task_id && !stream_state.has_task) throw notFound('task of this workflow', task_id);
      return stream_state.extent;
    };
    const place = { workflow_id: id, after: start, resumed: last_seen !== undefined, task_id };
    const event_stream = await followAfterLook(following, { ...place, look }, signal);
    return event_stream && toFrames(event_stream);
  });
}

/** Returns the thread of which a prompt is a turn: the one that it names, or a new one, if its workflow has threads. */
async function findThread(
  store: Store,
  { workflow, thread_id }: { workflow: WiredWorkflow; thread_id: string | undefined },
  caller: Caller,
): Promise<string | undefined> {
  if (thread_id === undefined) return workflow.remember === 'none' ? undefined : 'new';
  const thread = await getOwnThread(store)(thread_id, caller);
  if (thread.workflow_id === workflow.id) return thread_id;
  refuseWithoutThreads(workflow, 'thread_id');
  const message = `This thread belongs to the workflow ${thread.workflow_id}; send the prompt there`;
  throw unprocessable([{ path: 'thread_id', message }]);
}

/** Returns the URL of the event log that one run's stream reads. */
export const formatStreamUrl = ({ workflow_id, task_id }: { workflow_id: string; task_id: string }) =>
  `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;

const parseNumber = (text: string | undefined) => (text && /^\d{1,15}$/.test(text) ? Number(text) : undefined);

interface Saved {
  agent_id?: unknown;
  credential_overrides?: unknown;
  output_schema?: Record<string, unknown> | null | undefined;
}

/** Throws for references to missing records, and for an output schema that cannot be applied. */
async function refuseInvalid(
  { store, judge }: Pick<Services, 'store' | 'judge'>,
  values: Saved,
  { caller, before }: { caller: Caller; before?: WiredWorkflow },
): Promise<void> {
  const overrides = (values.credential_overrides ?? {}) as Record<string, string>;
  const errors: FieldError[] = [...(await listReferenceErrors(store, values as Record<string, unknown>, REFERENCES, before))];
  const agent_id = (values.agent_id ?? before?.agent_id) as string;
  if (errors.length === 0 && Object.keys(overrides).length > 0)
    errors.push(...(await listUndeclaredErrors(store, agent_id, overrides)));
  const schema_error = values.output_schema ? await judge.findSchemaError(values.output_schema, caller.key) : null;
  if (schema_error) errors.push({ path: 'output_schema', message: schema_error });
  if (errors.length > 0) throw unprocessable(errors);
}

/** Returns an error for each token override of a variable that none of the agent's tools declares. */
async function listUndeclaredErrors(store: Store, agent_id: string, overrides: Record<string, string>): Promise<FieldError[]> {
  const declared_variables = await store.customTools.listVariables(agent_id);
  const unknown = Object.keys(overrides).filter((name) => !declared_variables.includes(name));
  const variables = declared_variables.join(', ') || 'none';
  return unknown.map((name) => ({
    path: `credential_overrides.${name}`,
    message: `No tool of the agent declares this variable; declared variables: ${variables}`,
  }));
}
