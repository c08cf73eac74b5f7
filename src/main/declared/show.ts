import { diffLines } from 'diff';
import type { DeclaredChange, Plan, PlanStep } from './plan.ts';

const DIFF_MS = 2_000;
const SIGNS = { create: '+', change: '~', delete: '-' } as const;
const COUNTED = [
  ['create', 'to create'],
  ['change', 'to change'],
  ['delete', 'to delete'],
] as const;

/** Formats the plan for people: each step with its fields, then the totals. */
export function planText({ steps, unchanged }: Plan): string {
  const sums = COUNTED.map(([action, words]) => `${steps.filter((step) => step.action === action).length} ${words}`);
  return [...steps.flatMap(stepLines), [...sums, `${unchanged} unchanged`].join(', ')].join('\n');
}

/** Formats the plan for programs. */
export const planJson = ({ steps, unchanged }: Plan) => ({
  steps: steps.map((step) => ({
    action: step.action,
    kind: step.kind.type,
    title: step.title,
    ...('id' in step ? { id: step.id } : {}),
    ...(step.action === 'change' ? { changes: step.changes } : {}),
  })),
  unchanged,
});

function stepLines(step: PlanStep): string[] {
  const head = `${SIGNS[step.action]} ${step.kind.type.replaceAll('_', ' ')} ${step.title}`;
  if (step.action === 'change') return [head, ...step.changes.flatMap(changeLines)];
  if (step.action === 'delete') return [head];
  const fields = Object.entries(step.declared.fields).filter(([field]) => field !== step.kind.title);
  return [head, ...fields.map(([field, value]) => `    ${field}: ${JSON.stringify(value)}`)];
}

function changeLines({ field, before, after }: DeclaredChange): string[] {
  if (![before, after].every((value) => typeof value === 'string') || ![before, after].join('').includes('\n'))
    return [`    ${field}`, `      - ${JSON.stringify(before)}`, `      + ${JSON.stringify(after)}`];
  const parts = diffLines(before as string, after as string, { timeout: DIFF_MS });
  if (!parts) return [`    ${field}`, '      (too different to be shown)'];
  const lines = parts
    .filter(({ added, removed }) => added || removed)
    .flatMap(({ added, value }) =>
      value
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => `      ${added ? '+' : '-'} ${line}`),
    );
  return [`    ${field}`, ...lines];
}
