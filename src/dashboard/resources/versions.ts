import { isStale, type Tagged } from '../api/call.ts';
import type { Field, Values } from './fields.ts';
import { findChanges, toControls, toWire } from './values.ts';

/** One state of a record, with its ETag. */
export type Version = Tagged<Values>;

/** Fields that were changed both in the form and by someone else. */
export interface Conflict {
  newer: Version;
  fields: Field[];
}

export interface Ports {
  /** Saves the changes; fails with 412 if the record has changed since the tag. */
  save(changes: Values, tag: string | null): Promise<Version>;
  read(): Promise<Version>;
}

interface Saving {
  fields: Field[];
  /** The state that the form was created from. */
  base: Version;
  values: Values;
  ports: Ports;
}

type Outcome = { saved: Version; kept: Field[] } | { conflict: Conflict };

/** The attempts to save. There are several, because a run in progress changes its workflow several times a second. */
export const ATTEMPTS = 5;

/**
 * Saves the changed fields of a version. Other fields that were changed meanwhile are kept and returned as `kept`. If the same
 * fields were changed, nothing is saved and the user has to choose.
 */
export async function saveOver({ fields, base, values, ports }: Saving): Promise<Outcome> {
  const before = toSentValues(fields, base.value);
  const mine = findChanges(before, values);
  let newer = base;
  for (let attempt = 1; ; attempt++) {
    try {
      const { value, tag } = await ports.save(mine, newer.tag);
      return { saved: { value: { ...newer.value, ...mine, ...value }, tag }, kept: findChangedFields(fields, base, newer) };
    } catch (error) {
      if (!isStale(error) || attempt === ATTEMPTS) throw error;
    }
    newer = await ports.read();
    const both = findChangedFields(fields, base, newer).filter(({ name }) => name in mine);
    if (both.length > 0) return { conflict: { newer, fields: both } };
  }
}

const toSentValues = (fields: Field[], record: Values) => toWire(fields, toControls(fields, record)).values;

/** Returns the fields that differ between two versions. A secret is never returned, so its fingerprint is compared. */
function findChangedFields(fields: Field[], before: Version, after: Version): Field[] {
  const changes = findChanges(toSentValues(fields, before.value), toSentValues(fields, after.value));
  const resealed = before.value.fingerprint !== after.value.fingerprint;
  return fields.filter(({ name, control }) => name in changes || (control === 'secret' && resealed));
}
