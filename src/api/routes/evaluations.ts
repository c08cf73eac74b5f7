import { type EvaluationValues, evaluations } from '../../contracts/evaluations.ts';
import { conflict, type FieldError, notFound, unprocessable } from '../../domain/errors.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { IdentityCheck } from '../../identity/cached-identity.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { Evaluations } from '../../temporal/client/evaluations.ts';
import { chooseRunCredentials } from '../checks/later-starts.ts';
import { getOwnDataset, getOwnWorkflow } from '../checks/owned.ts';
import { createOnce } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { listGraderErrors, listGraderWarnings } from './graders.ts';

export interface EvaluationServices {
  store: Store;
  judge: Judge;
  evaluations: Evaluations;
  identify: IdentityCheck;
}

export function evaluationRoutes(api: Api, services: EvaluationServices): void {
  const { store, evaluations: engine } = services;
  const getOwn = getOwnDataset(store);
  const getEvaluation = async ({ id, run_id }: { id: string; run_id: string }, caller: Caller) => {
    await getOwn(id, caller);
    const evaluation = await store.evaluations.find(run_id);
    if (evaluation?.dataset_id !== id) throw notFound('evaluation of this dataset', run_id);
    return evaluation;
  };

  mount(api, evaluations.list, async ({ params: { id }, query }, caller) => {
    await getOwn(id, caller);
    return store.evaluations.list({ ...query, dataset_id: id });
  });
  mount(api, evaluations.create, async ({ params: { id }, body, reserved_id, claim, warn }, caller) => {
    await getOwn(id, caller);
    const evaluation = await createOnce(reserved_id, store.evaluations.find, async () => {
      const { warnings, ...order } = await buildEvaluation(services, { ...body, dataset_id: id, id: reserved_id }, caller);
      warn(...warnings);
      warn(...(await listGraderWarnings(store, body.graders, caller)));
      if (body.definition_hash === undefined) await store.versions.note(body.workflow_id, caller, 'run');
      return store.evaluations.create({ ...order, claim });
    });
    try {
      await engine.start({ id: evaluation.id, owner: caller.key });
    } catch (error) {
      // The engine may have received the evaluation although its answer was lost.
      if (await store.evaluations.discard(evaluation.id, claim)) throw error;
    }
    return evaluation;
  });
  mount(api, evaluations.get, async ({ params }, caller) => {
    const evaluation = await getEvaluation(params, caller);
    return { ...evaluation, regressions: await store.evaluations.regressions(evaluation) };
  });
  mount(api, evaluations.results, async ({ params, query }, caller) => {
    const { id } = await getEvaluation(params, caller);
    return store.evaluations.results(id, query);
  });
  mount(api, evaluations.halt, async ({ params }, caller) => {
    const { id, status } = await getEvaluation(params, caller);
    if (status !== 'running') throw conflict(`This evaluation is ${status}; there is nothing to halt`, 'evaluation_ended');
    await engine.halt(id);
    return { status: 'halt_requested' as const };
  });
}

type Ordered = EvaluationValues & { dataset_id: string; id: string | undefined };

/** Builds the evaluation to create; throws if it is not valid. */
async function buildEvaluation(services: EvaluationServices, order: Ordered, caller: Caller) {
  const { store } = services;
  const { definition_hash, ...values } = order;
  const { workflow_id, dataset_id, graders, baseline_id } = values;
  if (!(await store.workflows.find(workflow_id)))
    throw unprocessable([{ path: 'workflow_id', message: `No workflow with id ${workflow_id}` }]);
  await getOwnWorkflow(store)(workflow_id, caller);
  const version = await store.evaluations.version(workflow_id, definition_hash);
  const baseline = baseline_id === undefined ? null : await store.evaluations.find(baseline_id);
  const errors: FieldError[] = await listGraderErrors(services, graders, caller);
  if (!version) errors.push({ path: 'definition_hash', message: 'This workflow has no such version' });
  if (baseline_id !== undefined && baseline?.dataset_id !== dataset_id)
    errors.push({ path: 'baseline_id', message: `No evaluation of this dataset with id ${baseline_id}` });
  if (errors.length > 0 || !version) throw unprocessable(errors);
  const { key: created_by, login: owner_login } = caller;
  const uses_default_model = graders.some((grader) => grader.type === 'model' && grader.provider_id === null);
  const uses_token = version.body.provider === null || uses_default_model;
  const caller_access = await chooseRunCredentials(services.identify, caller, {
    noun: 'evaluation',
    path: 'workflow_id',
    uses_token,
  });
  return { ...values, version, created_by, owner_login, ...caller_access };
}
