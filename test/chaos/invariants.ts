import type pg from 'pg';
import { rebuildTexts } from '../support/client.ts';
import type { Watched } from './client.ts';
import type { ChaosModel } from './model.ts';
import { BRIEF, type Effect } from './tools.ts';

/** The data to compare: Perdura's record, the clients' views, and the records of the tools and the model. */
export interface Evidence {
  database: pg.Client;
  runs: Watched[];
  effects: Effect[];
  model: ChaosModel;
}

interface Row {
  [column: string]: any;
}

export interface Verdict {
  invariant: string;
  checked: number;
  violations: string[];
}

type Check = (evidence: Evidence) => Promise<Verdict>;

const verdict = (invariant: string): Verdict => ({ invariant, checked: 0, violations: [] });

/** Records a violation unless the condition holds. */
function hold(to: Verdict, holds: boolean, otherwise: () => string): void {
  to.checked += 1;
  if (!holds) to.violations.push(otherwise());
}

const statesAreTrue: Check = async ({ database, runs, model }) => {
  const found = verdict('every prompt is one task, ended in a state that is true');
  const { rows } = await database.query<Row>('SELECT * FROM tasks');
  hold(found, rows.length === runs.length, () => `${runs.length} prompts made ${rows.length} tasks`);
  for (const run of runs) {
    const task = rows.find(({ id }) => id === run.task_id);
    const code = model.deadly.get(run.plan.id) ?? null;
    const ending = code ? 'failed' : 'completed';
    const allowed = run.halted ? ['halted', ending] : [ending];
    const right = allowed.includes(task?.status) && (task?.status !== 'failed' || task.error_code === code);
    hold(found, right, () => `${run.task_id} is ${task?.status}: ${task?.error_code} ${task?.error}`);
    const last_status = run.events.findLast(({ type }) => type === 'status')?.data.status;
    hold(found, last_status === task?.status, () => `${run.task_id} is ${task?.status}, its client saw ${last_status}`);
  }
  const { rows: lanes } = await database.query<Row>('SELECT id FROM workflows WHERE active_task_id IS NOT NULL');
  hold(found, lanes.length === 0, () => `${lanes.length} lanes are held by nobody`);
  return found;
};

const transcriptsAreWhole: Check = async ({ database, runs }) => {
  const found = verdict('each call has exactly one result, in the round that asked for it');
  for (const { task_id } of runs) {
    const messages = await messagesOf(database, task_id);
    const asked = messages.flatMap(({ step, tool_calls }) =>
      ((tool_calls ?? []) as Row[]).map(({ call_id }) => `${step} ${call_id}`),
    );
    const answered = messages.filter(({ role }) => role === 'tool').map(({ step, call_id }) => `${step} ${call_id}`);
    hold(found, same(asked, answered), () => `${task_id} asked for ${asked} and was answered ${answered}`);
    const { rows: open } = await database.query<Row>(
      `SELECT call_id FROM tool_calls WHERE task_id = $1 AND status NOT IN ('done', 'denied')`,
      [task_id],
    );
    hold(found, open.length === 0, () => `${task_id} has ${open.length} open calls`);
  }
  return found;
};

const effectsAreKnown: Check = async ({ database, runs, effects }) => {
  const found = verdict('effects counted outside match the ledger; a write is repeated only if a person chose retry');
  const { rows } = await database.query<Row>('SELECT * FROM tool_calls WHERE name <> $1', [BRIEF]);
  const begun = (key: string) => effects.filter((effect) => effect.key === key && effect.phase === 'begin').length;
  for (const { task_id, call_id, effect, attempts, status, failed } of rows) {
    const times = begun(`${task_id}:${call_id}`);
    const counts = `${task_id} ${call_id} (${effect}) had ${times} effects in ${attempts} attempts`;
    hold(found, times <= attempts, () => counts);
    const retries = runs.find((run) => run.task_id === task_id)?.decided[call_id]?.filter((it) => it === 'retry').length ?? 0;
    if (effect === 'write') hold(found, times <= 1 + retries, () => `${counts}, ${retries} requested`);
    const unsettled = runs.find((run) => run.task_id === task_id)?.decided[call_id]?.some((it) => it === 'done');
    if (status === 'done' && !failed && !unsettled) hold(found, times > 0, () => `${counts}, but has a result`);
  }
  const keys = new Set(rows.map(({ task_id, call_id }) => `${task_id}:${call_id}`));
  for (const key of new Set(effects.map((effect) => effect.key))) hold(found, keys.has(key), () => `${key} is in no ledger`);
  return found;
};

/** The most tokens that the estimate for one broken answer of these small runs comes to. */
const MOST_ESTIMATED = 2_000;

const usageIsRight: Check = async ({ database, runs, model }) => {
  const found = verdict('usage is what the model served, and an estimate for each announced reset');
  for (const { task_id, plan } of runs) {
    const { rows: steps } = await database.query<Row>('SELECT * FROM task_steps WHERE task_id = $1 AND ended_at IS NOT NULL', [
      task_id,
    ]);
    const { rows } = await database.query<Row>('SELECT total_in, total_out, status FROM tasks WHERE id = $1', [task_id]);
    // What a halt broke off counts what its endpoint reported until then, or an estimate.
    const { rows: broken } = await database.query<Row>(
      `SELECT coalesce(sum(total_in), 0)::int AS total_in, coalesce(sum(total_out), 0)::int AS total_out FROM task_steps
        WHERE task_id = $1 AND ended_at IS NULL`,
      [task_id],
    );
    const halted = rows[0]?.status === 'halted' ? broken[0]! : { total_in: 0, total_out: 0 };
    const paid = steps.map(({ step }) => model.tokensOf(plan.id, step - 1));
    const sum = (of: 'total_in' | 'total_out') => paid.reduce((total, tokens) => total + tokens[of], halted[of]);
    const { rows: resets } = await database.query<Row>(
      `SELECT count(*)::int AS n FROM events WHERE task_id = $1 AND type = 'log' AND data ->> 'event' = 'attempt_reset'`,
      [task_id],
    );
    // An answer that broke off, or that reports no tokens of its request, counts an estimate.
    const unreported = paid.filter(({ total_in }) => total_in === 0).length;
    const extra = (of: 'total_in' | 'total_out') => (rows[0]?.[of] ?? Number.NaN) - sum(of);
    const most = (resets[0]?.n + unreported) * MOST_ESTIMATED;
    const right = [extra('total_in'), extra('total_out')].every((tokens) => tokens >= 0 && tokens <= most);
    hold(found, right, () => `${task_id} has ${steps.length} steps and ${JSON.stringify(rows[0])}`);
    const served = model.served.filter((it) => it.plan === plan.id).length;
    const spare = served - steps.length;
    // A halted run may have received an answer that nobody waited for.
    hold(
      found,
      spare >= 0 && spare <= resets[0]?.n + 1,
      () => `${task_id}: ${served} served, ${steps.length} recorded, ${resets[0]?.n} resets`,
    );
  }
  return found;
};

const streamsAreRight: Check = async ({ database, runs }) => {
  const found = verdict('text rebuilt from each stream is the record, byte for byte; numbers grow');
  for (const { task_id, events } of runs) {
    const stored = (await messagesOf(database, task_id)).filter(({ role }) => role === 'assistant').map(({ content }) => content);
    const { texts, unfinished } = rebuildTexts(events);
    hold(
      found,
      same(stored, texts) && unfinished === '',
      () => `${task_id}: stored ${JSON.stringify(stored)}, seen ${JSON.stringify(texts)} + ${JSON.stringify(unfinished)}`,
    );
    hold(
      found,
      events.every(({ id }, index) => index === 0 || id > events[index - 1]!.id),
      () => `${task_id}: numbers do not grow`,
    );
    const { rows } = await database.query<Row>('SELECT seq FROM events WHERE task_id = $1 ORDER BY seq', [task_id]);
    const logged = rows.map(({ seq }) => seq);
    hold(
      found,
      same(
        logged,
        events.map(({ id }) => id),
      ),
      () => `${task_id}: ${logged.length} events on record, ${events.length} seen`,
    );
  }
  return found;
};

/** What a sum of the same numbers in another order may differ by. */
const ROUNDING = 1e-9;

const budgetsAreRight: Check = async ({ database }) => {
  const found = verdict('what budgets counted is the usage of their runs, within the limit and one call; nothing stays reserved');
  const { rows: budgets } = await database.query<Row>(
    `SELECT b.id, b.name, b.limit_usd, b.limit_tokens, sum(p.cost) AS cost, sum(p.tokens) AS tokens
      FROM budgets b JOIN budget_periods p ON p.budget_id = b.id GROUP BY b.id`,
  );
  const { rows: sums } = await database.query<Row>(
    'SELECT sum(cost) AS cost, sum(total_in::float8 + total_out) AS tokens, max(cost) AS most_cost, max(total_in::float8 + total_out) AS most_tokens FROM tasks',
  );
  const used = sums[0]!;
  hold(found, budgets.length === 2, () => `${budgets.length} budgets were used`);
  for (const { name, cost, tokens, limit_usd, limit_tokens } of budgets) {
    const counts = `${name} counted ${cost} dollars and ${tokens} tokens; its runs used ${JSON.stringify(used)}`;
    hold(found, Math.abs(cost - used.cost) <= ROUNDING * used.cost, () => counts);
    hold(found, tokens === used.tokens, () => counts);
    hold(found, limit_usd === null || cost <= limit_usd + used.most_cost, () => counts);
    hold(found, limit_tokens === null || tokens <= limit_tokens + used.most_tokens, () => counts);
  }
  const { rows: old } = await database.query<Row>(
    `SELECT id, holder FROM budget_reservations WHERE alive_until < now() - interval '1 minute'`,
  );
  hold(found, old.length === 0, () => `${old.length} reservations were kept: ${JSON.stringify(old)}`);
  const { rows: waits } = await database.query<Row>('SELECT task_id FROM budget_waits');
  hold(found, waits.length === 0, () => `${waits.length} runs are noted as waiting: ${JSON.stringify(waits)}`);
  return found;
};

const messagesOf = async (database: pg.Client, task_id: string) =>
  (await database.query<Row>('SELECT * FROM task_messages WHERE task_id = $1 ORDER BY step, position', [task_id])).rows;

const same = (some: unknown[], others: unknown[]) => JSON.stringify(some) === JSON.stringify(others);

export const CHECKS: Check[] = [
  statesAreTrue,
  transcriptsAreWhole,
  effectsAreKnown,
  usageIsRight,
  budgetsAreRight,
  streamsAreRight,
];
