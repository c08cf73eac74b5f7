import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { v7 as uuid } from 'uuid';
import type { z } from 'zod';
import type { PeriodBudget, PeriodBudgetCreate, PeriodBudgetUpdate } from '../../contracts/budgets.ts';
import type { PrismaClient, Budget as Row } from '../../generated/prisma/client.ts';
import { onlyRow, rows } from '../database/database.ts';
import { listPage, type Paging, wireAs } from '../database/page.ts';
import { translateConstraintErrors } from '../database/resource.ts';
import * as sql from './budgets.sql.ts';

const NOUN = 'budget';

/** What decides when a budget warns. If it changes, shares that were reported are reported again. */
const WARNED_BY = ['limit_usd', 'limit_tokens', 'warn_at'] as const;

/** A budget with the person whose subject it is about; null: it is about an agent or the installation, which everyone may know. */
export type StoredBudget = PeriodBudget & { owner: string | null };

interface NewBudget extends z.output<typeof PeriodBudgetCreate> {
  id?: string | undefined;
  owner: string | null;
  created_by: string;
}

/** A budget in dollars with what it limits. */
export type DollarBudget = Pick<PeriodBudget, 'name' | 'scope' | 'subject_id'>;

/** The most budgets that a change of a model is compared with. */
const MOST_COMPARED = 1_000;

interface State {
  id: string;
  spent: number;
  reserved: number;
  starts_at: Date;
  ends_at: Date;
}

export interface UsedBudget {
  id: string;
  scope: string;
  unit: 'usd' | 'tokens';
  limit: number;
  spent: number;
  reserved: number;
  /** The share of the limit that is spent. */
  used: number;
}

export function budgetStore({ pool, prisma }: { pool: pg.Pool; prisma: PrismaClient }) {
  const table = prisma.budget;
  const addStates = async (budgets: Row[]): Promise<StoredBudget[]> => {
    const states = await rows<State>(pool, sql.budgetStates({ ids: budgets.map(({ id }) => id) }));
    // A budget without a state was deleted meanwhile.
    return budgets.flatMap((budget) => {
      const state = states.find(({ id }) => id === budget.id);
      return state ? [toBudget(budget, state)] : [];
    });
  };
  const addState = async (budget: Row): Promise<StoredBudget> => (await addStates([budget]))[0]!;
  return {
    async find(id: string): Promise<StoredBudget | null> {
      const budget = await table.findUnique({ where: { id } });
      return budget ? ((await addStates([budget]))[0] ?? null) : null;
    },
    /** Lists the budgets that concern a person; null: all. */
    async list({ reader, q, ...paging }: Paging & { reader: string | null; q?: string | undefined }) {
      const concerned = reader === null ? {} : { OR: [{ owner: null }, { owner: reader }] };
      const where = { ...concerned, ...(q ? { name: { contains: q, mode: 'insensitive' } } : {}) };
      const page = await listPage<Row, Row>(table, { where, paging, toItem: (row) => row });
      return { ...page, items: await addStates(page.items) };
    },
    /** Lists the budgets in dollars that a person may know: about what is theirs, an agent or the installation. */
    async listDollar(owner: string): Promise<DollarBudget[]> {
      const where = { limit_usd: { not: null }, OR: [{ owner: null }, { owner }] };
      const select = { name: true, scope: true, subject: true } as const;
      const found = await table.findMany({ where, select, orderBy: { id: 'asc' }, take: MOST_COMPARED });
      return found.map(({ subject, ...budget }) => ({ ...budget, subject_id: subject === '' ? null : subject }) as DollarBudget);
    },
    countMade: (created_by: string): Promise<number> => table.count({ where: { created_by } }),
    async create({ id = uuid(), subject_id, ...values }: NewBudget): Promise<StoredBudget> {
      const data = { id, subject: subject_id ?? '', ...values };
      return addState(await translateConstraintErrors(NOUN, table.create({ data })));
    },
    async update(id: string, values: z.output<typeof PeriodBudgetUpdate>): Promise<StoredBudget> {
      const data = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
      const before = await table.findUnique({ where: { id } });
      const warns_again = WARNED_BY.some((field) => field in data && !isDeepStrictEqual(data[field], before?.[field]));
      const change = prisma.$transaction(async (on) => {
        const after = await on.budget.update({ where: { id }, data });
        if (warns_again) await on.budgetPeriod.updateMany({ where: { budget_id: id }, data: { warned: 0 } });
        return after;
      });
      return addState(await translateConstraintErrors(NOUN, change));
    },
    async remove(id: string): Promise<void> {
      await table.deleteMany({ where: { id } });
    },
    knowsTimeZone: async (time_zone: string): Promise<boolean> =>
      (await onlyRow<{ is_known: boolean }>(pool, sql.knowsTimeZone({ time_zone }))).is_known,
    /** Returns the budgets of which the largest shares are used. */
    listMostUsed: (limit: number) => rows<UsedBudget>(pool, sql.mostUsedBudgets({ limit })),
  };
}

function toBudget({ subject, ...row }: Row, { spent, reserved, starts_at, ends_at }: State): StoredBudget {
  const limit = (row.limit_usd ?? row.limit_tokens)!;
  return {
    ...wireAs<Omit<StoredBudget, 'subject_id' | 'spent'>>()(row),
    subject_id: subject === '' ? null : subject,
    spent,
    reserved,
    left: Math.max(0, limit - spent - reserved),
    used: spent / limit,
    period_starts_at: starts_at.toISOString(),
    period_ends_at: ends_at.toISOString(),
  } as StoredBudget;
}
