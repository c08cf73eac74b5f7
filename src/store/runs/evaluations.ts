import { v7 as uuid } from 'uuid';
import type {
  Evaluation,
  EvaluationDetail,
  EvaluationResult,
  EvaluationValues,
  Grade,
  Grader,
} from '../../contracts/evaluations.ts';
import type { Definition } from '../../domain/definition.ts';
import { conflict, keyBusy } from '../../domain/errors.ts';
import type { GradingOutcome } from '../../domain/judging.ts';
import type { Prisma, Evaluation as Row } from '../../generated/prisma/client.ts';
import { type Database, inTransaction, row, rows } from '../database/database.ts';
import { listPage, type Paging, wireAs } from '../database/page.ts';
import { hashDefinition } from '../resources/definitions.ts';
import type { KeyRing, Sealed } from '../secrets/key-ring.ts';
import * as sql from './evaluations.sql.ts';
import { pinDefinition, type Snapshot } from './pin.ts';

const context = (id: string) => `evaluation-token:${id}`;

interface NewEvaluation extends Omit<EvaluationValues, 'definition_hash'> {
  /** The id, if one was reserved for the request. */
  id?: string | undefined;
  /** The claim of the request's Idempotency-Key; absent: it has none. Only the last claim writes the evaluation. */
  claim?: number | null | undefined;
  dataset_id: string;
  version: Version;
  created_by: string;
  owner_login: string;
  /** The caller's access token, kept if a run or a judge calls the default runtime. */
  access_token: string | null;
  service_key_id: string | null;
}

/** An item whose run is about to begin. */
interface ClaimedResult {
  task_id: string;
  prompt: string;
  workflow_id: string;
  workflow_title: string | null;
  definition_hash: string;
  effects: 'recorded' | 'stub';
  owner: string;
  owner_login: string;
  service_key_id: string | null;
}

/** The work of a slow grader on one item: its task, or its outcome. */
type GradingWork = { task_id: string } | GradingOutcome;

/** An item that has a run and no result. */
export interface OpenResult {
  prompt: string;
  expected: unknown;
  graders: Grader[];
  /** The work of each grader, by the grader's position. */
  grading: Record<string, GradingWork>;
  definition_hash: string;
  workflow_id: string;
  owner: string;
  owner_login: string;
  service_key_id: string | null;
  /** The status of its run; null if that was deleted. */
  task_status: string | null;
  answer: unknown;
  error: string | null;
}

interface SettledResult {
  status: 'passed' | 'failed' | 'error';
  grades: Grade[];
  error: string | null;
}

/** A version that runs are pinned with. */
interface Version {
  body: Definition;
  definition_hash: string;
}

interface Place {
  evaluation_id: string;
  item_id: string;
}

const toEvaluation = ({
  caller_token: _token,
  caller_key_id: _key,
  service_key_id: _saver,
  owner_login: _login,
  ...row
}: Row) => ({
  ...wireAs<Evaluation>()(row),
  pass_rate: row.status === 'completed' && row.items > 0 ? row.passed / row.items : null,
});

export type EvaluationStore = ReturnType<typeof evaluationStore>;

interface Parts extends Pick<Database, 'pool' | 'prisma'> {
  keys: KeyRing;
  snapshot(workflow_id: string): Promise<Snapshot | undefined>;
}

/** Stores evaluations of datasets. Results are written once, so every step of an evaluation may be repeated. */
export function evaluationStore({ pool, prisma, keys, snapshot }: Parts) {
  const table = prisma.evaluation;
  return {
    ...createResultStore({ pool, prisma }),
    list: ({ limit, cursor, ...where }: Paging & { dataset_id: string; workflow_id?: string; definition_hash?: string }) =>
      listPage(table, { where, paging: { limit, cursor }, toItem: toEvaluation }),
    async find(id: string) {
      const evaluation = await table.findUnique({ where: { id } });
      return evaluation && toEvaluation(evaluation);
    },
    /** Returns the version of a workflow with a hash, or as the workflow is now; undefined if there is none. */
    async version(workflow_id: string, definition_hash: string | undefined): Promise<Version | undefined> {
      if (definition_hash !== undefined) return row<Version>(pool, sql.versionOfWorkflow({ workflow_id, definition_hash }));
      const now = await snapshot(workflow_id);
      const body = now && pinDefinition(now);
      return body && { body, definition_hash: hashDefinition(JSON.stringify(body)) };
    },
    /** Writes an evaluation with an open result for each item. */
    async create({
      id = uuid(),
      claim = null,
      access_token,
      graders,
      baseline_id,
      version: { body, definition_hash },
      ...values
    }: NewEvaluation) {
      const caller_token = access_token === null ? null : keys.seal(access_token, context(id));
      const pinned_columns = {
        definition_hash,
        definition: JSON.stringify(body),
        model: body.model,
        workflow_title: body.workflow.title,
      };
      const columns = { ...values, ...pinned_columns, id, baseline_id: baseline_id ?? null, graders: JSON.stringify(graders) };
      const evaluation = await inTransaction(pool, async (on) => {
        await row(on, sql.lockDataset({ dataset_id: values.dataset_id }));
        const request = await row<{ is_current: boolean }>(on, sql.claimEvaluation({ id, claim }));
        if (!request?.is_current) throw keyBusy();
        return row(
          on,
          sql.createEvaluation({
            ...columns,
            caller_token: caller_token && Buffer.from(caller_token.sealed),
            caller_key_id: caller_token?.key_id ?? null,
          }),
        );
      });
      if (!evaluation) throw conflict('This dataset has no items; add one first', 'dataset_empty');
      return toEvaluation(await table.findUniqueOrThrow({ where: { id } }));
    },
    /**
     * Removes an evaluation that has not begun. Returns false if it has, or if its request was claimed again, or has a reply: another
     * try may have been accepted.
     */
    discard: async (id: string, claim?: number): Promise<boolean> =>
      (await row(pool, sql.discardEvaluation({ id, claim: claim ?? null }))) !== undefined,
    /** Lists the evaluations that should have an execution. */
    running: () =>
      table.findMany({ where: { status: 'running' }, select: { id: true, created_by: true }, orderBy: { id: 'asc' } }),
    /**
     * Returns the principal in whose name an evaluation runs; its access token is deleted once it has ended. Returns null if
     * there is no such evaluation.
     */
    async leftToRun(id: string) {
      const select = { created_by: true, service_key_id: true, caller_token: true, caller_key_id: true } as const;
      const evaluation = await table.findUnique({ where: { id }, select });
      if (!evaluation) return null;
      const { created_by: owner, service_key_id, ...token } = evaluation;
      const { caller_token: sealed, caller_key_id: key_id } = token;
      return {
        owner,
        service_key_id,
        access_token: sealed && key_id ? keys.open({ sealed, key_id } as Sealed, context(id)) : null,
      };
    },
    /** Ends an evaluation, and returns the runs of results that were open, with those of their judges. */
    async end(evaluation_id: string): Promise<string[]> {
      return (await rows<{ task_id: string }>(pool, sql.endEvaluation({ evaluation_id }))).map(({ task_id }) => task_id);
    },
    regressions: ({ id: evaluation_id, baseline_id }: Pick<Evaluation, 'id' | 'baseline_id'>) =>
      baseline_id === null
        ? Promise.resolve([])
        : rows<EvaluationDetail['regressions'][number]>(pool, sql.regressions({ evaluation_id, baseline_id })),
  };
}

const WITH_ITEM = { include: { item: { select: { prompt: true, expected: true } } } } as const;
type ResultRow = Prisma.EvaluationResultGetPayload<typeof WITH_ITEM>;

function createResultStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>) {
  const table = prisma.evaluationResult;
  return {
    async results(evaluation_id: string, { limit, cursor, status }: Paging & { status?: string | undefined }) {
      const where = { evaluation_id, ...(status ? { status } : {}) };
      const toResult = ({ item, grading: _work, ...result }: ResultRow) => ({ ...wireAs<EvaluationResult>()(result), ...item });
      const page = await listPage(table, { where, paging: { limit, cursor }, toItem: toResult, more: WITH_ITEM, by: 'item_id' });
      const ids = page.items.flatMap(({ task_id }) => task_id ?? []);
      const runs = await prisma.task.findMany({ where: { id: { in: ids } }, select: { id: true, response: true } });
      const answers = new Map(runs.map(({ id, response }) => [id, response]));
      return { ...page, items: page.items.map((result) => ({ ...result, answer: answers.get(result.task_id ?? '') ?? null })) };
    },
    /** Lists the items without a result yet. */
    async open(evaluation_id: string): Promise<string[]> {
      const where = { evaluation_id, status: { in: ['pending', 'running'] } };
      const open_results = await table.findMany({ where, select: { item_id: true }, orderBy: { item_id: 'asc' } });
      return open_results.map(({ item_id }) => item_id);
    },
    /** Claims an item for its run; undefined if it has a result, or the evaluation has ended. */
    claim: (place: Place) => row<ClaimedResult>(pool, sql.claimResult({ ...place, task_id: uuid() })),
    /** Returns what the graders of an item need; undefined if the item has a result. */
    toGrade: (place: Place) => row<OpenResult>(pool, sql.openResult({ ...place })),
    /** Writes a grader's outcome for an item, once. Returns what is on record; undefined if the item has a result. */
    async note(place: Place, grader: number, work: GradingWork): Promise<GradingWork | undefined> {
      const values = { ...place, grader: String(grader), work: JSON.stringify(work) };
      return (await row<{ work: GradingWork }>(pool, sql.noteGrading(values)))?.work;
    },
    async settle(place: Place, { grades, ...result }: SettledResult): Promise<void> {
      await row(pool, sql.settleResult({ ...place, ...result, grades: JSON.stringify(grades) }));
    },
  };
}

/** Seals the access tokens of running evaluations again with the active key. Returns how many changed. */
export async function renewEvaluations(
  { evaluation: table }: Pick<Database['prisma'], 'evaluation'>,
  keys: KeyRing,
): Promise<number> {
  const stale_rows = await table.findMany({ where: { caller_key_id: { not: keys.active_key_id } } });
  for (const { id, caller_token, caller_key_id: old } of stale_rows) {
    const token = keys.open({ sealed: caller_token, key_id: old } as Sealed, context(id));
    const { sealed, key_id: caller_key_id } = keys.seal(token, context(id));
    await table.updateMany({ where: { id, caller_key_id: old }, data: { caller_token: Buffer.from(sealed), caller_key_id } });
  }
  return stale_rows.length;
}
