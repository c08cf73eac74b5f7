import { type Field, mayHoldSecret, type Values } from './fields.ts';

/** What a form keeps of what was typed. It holds no secret, and no field that was not edited. */
export interface FormDraft {
  edits: Values;
  /** The stored state of the edited fields when they were edited. */
  over: Values;
  /** The labels of the edited fields that are not kept. */
  missing: string[];
}

interface FormState {
  controls: Values;
  /** The controls of the stored record, or of an empty form. */
  clean: Values;
  /** The draft that the form was opened with. */
  restored: FormDraft | null;
}

/** A URL with a login, such as the one with an access token that a code host shows for cloning. */
const LOGIN_IN_URL = /:\/\/[^\s/?#"]*@/;

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Returns the draft of a form, null if there is nothing to keep, and the labels of the edited fields that no draft keeps. */
export function toDraft(fields: Field[], { controls, clean, restored }: FormState) {
  const edited = fields.filter(({ name }) => !same(controls[name], clean[name]));
  const isLeftOut = (field: Field) => mayHoldSecret(field) || LOGIN_IN_URL.test(JSON.stringify(controls[field.name]));
  const missing = edited.filter(isLeftOut).map(({ label }) => label);
  const kept = edited.filter((field) => !isLeftOut(field)).map(({ name }) => name);
  const over = kept.map((name) => [name, restored && name in restored.over ? restored.over[name] : clean[name]]);
  const edits = Object.fromEntries(kept.map((name) => [name, controls[name]]));
  const typed: FormDraft | null = kept.length > 0 ? { edits, over: Object.fromEntries(over), missing } : null;
  return { typed, missing };
}

/** Returns the controls of a form that is opened with a draft. */
export function applyDraft(fields: Field[], clean: Values, draft: FormDraft | null): Values {
  const kept = fields.filter((field) => draft && field.name in draft.edits && !mayHoldSecret(field));
  return { ...clean, ...Object.fromEntries(kept.map(({ name }) => [name, draft!.edits[name]])) };
}

/** Returns the labels of the fields of a draft whose stored state has changed since they were edited. */
export const findOutdated = (fields: Field[], clean: Values, draft: FormDraft | null): string[] =>
  fields.filter(({ name }) => draft && name in draft.over && !same(clean[name], draft.over[name])).map(({ label }) => label);
