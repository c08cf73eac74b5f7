import { isCallSetting } from '../../contracts/call-settings.ts';
import type { ChangeableFields } from '../../contracts/fork-changes.ts';
import type { Values } from '../resources/fields.ts';

/** A field to save: where it is stored, its value there, and its new value. */
export interface SaveLine {
  name: string;
  place: 'agent' | 'workflow';
  before: unknown;
  after: unknown;
}

interface Stored {
  agent: Values;
  workflow: Values;
}

const isOfWorkflow = (name: string) => name === 'output_format' || name === 'reasoning_effort' || isCallSetting(name);

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/**
 * Lists the draft's changes to the stored agent and workflow. `origin` holds the first run's values, before any fork changed
 * them.
 */
export function saveLines(current: Stored, { origin, draft }: { origin: ChangeableFields; draft: Values }): SaveLine[] {
  return Object.entries(origin).flatMap(([name, from]): SaveLine[] => {
    const to = draft[name];
    if (same(from, to)) return [];
    const place = choosePlace(name, current);
    const before = current[place][name];
    const after = Array.isArray(from) && !isCallSetting(name) ? mergeLists(before as string[], from, to as string[]) : to;
    return same(before, after) ? [] : [{ name, place, before, after }];
  });
}

/** Chooses the record to change. A workflow's own model takes precedence over its agent's. */
const choosePlace = (name: string, { workflow }: Stored) =>
  isOfWorkflow(name) || (name === 'model' && workflow.model !== null) ? 'workflow' : 'agent';

/**
 * Applies the draft's additions and removals to a stored list, which may contain more than the run had, such as a disabled
 * tool.
 */
const mergeLists = (current: string[], from: string[], to: string[]) => [
  ...current.filter((item) => to.includes(item) || !from.includes(item)),
  ...to.filter((item) => !from.includes(item) && !current.includes(item)),
];

/** Returns the values to write to one record. */
export const pickValues = (lines: SaveLine[], place: SaveLine['place']): Values =>
  Object.fromEntries(lines.filter((line) => line.place === place).map(({ name, after }) => [name, after]));
