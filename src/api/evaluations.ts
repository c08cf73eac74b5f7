import { type EvaluationValues, evaluations, type Grader } from '../contracts/evaluations.ts';
import { conflict, type FieldError, notFound, unprocessable } from '../domain/errors.ts';
import type { Judge } from '../guardrails/judge.ts';
import type { Store } from '../store/index.ts';
import type { Evaluations } from '../temporal/evaluations.ts';
import type { Caller } from './auth.ts';
import { madeOnce } from './crud.ts';
import { type Api, mount } from './mount.ts';
import { ownedDataset, ownedWorkflow } from './owned.ts';

export interface EvaluationServices {
  store: Store;
  judge: Judge;
  evaluations: Evaluations;
}

export function evaluationRoutes(api: Api, services: EvaluationServices): void {
  const { store, evaluations: engine } = services;
  const owned = ownedDataset(store);
  const found = async ({ id, run_id }: { id: string; run_id: string }, caller: Caller) => {
    await owned(id, caller);
    const evaluation = await store.evaluations.find(run_id);
    if (evaluation?.dataset_id !== id) throw notFound('evaluation of this dataset', run_id);
    return evaluation;
  };

  mount(api, evaluations.list, async ({ params: { id }, query }, caller) => {
    await owned(id, caller);
    return store.evaluations.list({ ...query, dataset_id: id });
  });
  mount(api, evaluations.create, async ({ params: { id }, body, reserved_id }, caller) => {
    await owned(id, caller);
    const evaluation = await madeOnce(reserved_id, store.evaluations.find, () =>
      created(services, { ...body, dataset_id: id, id: reserved_id }, caller),
    );
    try {
      await engine.start({ id: evaluation.id, owner: caller.key });
    } catch (error) {
      await store.evaluations.discard(evaluation.id);
      throw error;
    }
    return evaluation;
  });
  mount(api, evaluations.get, async ({ params }, caller) => {
    const evaluation = await found(params, caller);
    return { ...evaluation, regressions: await store.evaluations.regressions(evaluation) };
  });
  mount(api, evaluations.results, async ({ params, query }, caller) => {
    const { id } = await found(params, caller);
    return store.evaluations.results(id, query);
  });
  mount(api, evaluations.halt, async ({ params }, caller) => {
    const { id, status } = await found(params, caller);
    if (status !== 'running') throw conflict(`This evaluation is ${status}; there is nothing to halt`, 'evaluation_ended');
    await engine.halt(id);
    return { status: 'halt_requested' as const };
  });
}

type Ordered = EvaluationValues & { dataset_id: string; id: string | undefined };

async function created({ store, judge }: EvaluationServices, order: Ordered, caller: Caller) {
  const { definition_hash, ...values } = order;
  const { workflow_id, dataset_id, graders, baseline_id } = values;
  if (!(await store.workflows.find(workflow_id)))
    throw unprocessable([{ path: 'workflow_id', message: `No workflow with id ${workflow_id}` }]);
  await ownedWorkflow(store)(workflow_id, caller);
  const version = await store.evaluations.version(workflow_id, definition_hash);
  const baseline = baseline_id === undefined ? null : await store.evaluations.find(baseline_id);
  const errors: FieldError[] = await graderErrors(judge, graders, caller);
  if (!version) errors.push({ path: 'definition_hash', message: 'This workflow has no such version' });
  if (baseline_id !== undefined && baseline?.dataset_id !== dataset_id)
    errors.push({ path: 'baseline_id', message: `No evaluation of this dataset with id ${baseline_id}` });
  if (errors.length > 0 || !version) throw unprocessable(errors);
  if (definition_hash === undefined) await store.versions.note(workflow_id, caller, 'run');
  const { key: created_by, login: owner_login, access_token } = caller;
  return store.evaluations.create({ ...values, version, created_by, owner_login, access_token });
}

/** What is wrong with the patterns and schemas of graders. */
async function graderErrors(judge: Judge, graders: readonly Grader[], caller: Caller): Promise<FieldError[]> {
  const errors = graders.map(async (grader, at) => {
    if (grader.type === 'exact') return [];
    const field = grader.type === 'regex' ? 'pattern' : 'json_schema';
    const config = grader.type === 'regex' ? { required_patterns: [grader.pattern] } : { json_schema: grader.json_schema };
    const faults = await judge.faultsOf(config, caller.key);
    return faults.map(({ message }) => ({ path: `graders.${at}.${field}`, message }));
  });
  return (await Promise.all(errors)).flat();
}
