import { isStale, type Tagged } from '../api/call.ts';
import type { Field, Values } from './fields.ts';
import { changesOf, toControls, toWire } from './values.ts';

/** A record as it was at some time, with the tag of that state. */
export type Version = Tagged<Values>;

/** Both have changed these fields: the form, and somebody else meanwhile. */
export interface Conflict {
  newer: Version;
  fields: Field[];
}

export interface Ports {
  /** Refuses with 412 when the record is not in the state of the tag any more. */
  save(changes: Values, tag: string | null): Promise<Version>;
  read(): Promise<Version>;
}

interface Saving {
  fields: Field[];
  /** What the form was made from. */
  base: Version;
  values: Values;
  ports: Ports;
}

type Outcome = { saved: Version; kept: Field[] } | { conflict: Conflict };

/** A run under way changes its workflow several times a second. */
export const ATTEMPTS = 5;

/**
 * Saves what was changed of a version. What was changed meanwhile in other fields stays as it is and is told as `kept`;
 * when it was the same fields, nothing is saved: one has to choose.
 */
export async function saveOver({ fields, base, values, ports }: Saving): Promise<Outcome> {
  const before = sent(fields, base.value);
  const mine = changesOf(before, values);
  let newer = base;
  for (let attempt = 1; ; attempt++) {
    try {
      const { value, tag } = await ports.save(mine, newer.tag);
      return { saved: { value: { ...newer.value, ...mine, ...value }, tag }, kept: changed(fields, base, newer) };
    } catch (error) {
      if (!isStale(error) || attempt === ATTEMPTS) throw error;
    }
    newer = await ports.read();
    const both = changed(fields, base, newer).filter(({ name }) => name in mine);
    if (both.length > 0) return { conflict: { newer, fields: both } };
  }
}

const sent = (fields: Field[], record: Values) => toWire(fields, toControls(fields, record)).values;

/** The fields that differ between two versions. A secret never comes back: its fingerprint does. */
function changed(fields: Field[], before: Version, after: Version): Field[] {
  const changes = changesOf(sent(fields, before.value), sent(fields, after.value));
  const resealed = before.value.fingerprint !== after.value.fingerprint;
  return fields.filter(({ name, control }) => name in changes || (control === 'secret' && resealed));
}
