import type pg from 'pg';

/** The types of a parameter. JSON is passed as text. */
type Value = string | number | boolean | Date | Uint8Array | null | readonly string[];

type Values<P extends string> = [P] extends [never] ? [] : [values: Readonly<Record<P, Value>>];

/**
 * A prepared statement with named parameters. Calling it with a value for each name returns the query; a missing or misspelled
 * name is a type error. Postgres prepares it under its name once per connection, so the text is constant.
 */
type Statement<P extends string = never> = ((...values: Values<P>) => pg.QueryConfig) & {
  readonly prepared: Readonly<{ name: string; text: string }>;
};

/** Finds each `:name`, except in literals, quoted names and casts. */
const TOKENS = /'(?:[^']|'')*'|"[^"]*"|::|:([a-z_][a-z0-9_]*)|\$\d/g;

/**
 * Declares a statement whose text has a `:name` for each parameter. Names become positions here, once, when the module is loaded.
 * Throws when text and names do not agree.
 */
export function statement<const P extends string = never>(name: string, parameters: readonly P[], text: string): Statement<P> {
  const used_names = new Set<string>();
  const positional = text.replaceAll(TOKENS, (token: string, parameter?: string) => {
    if (token.startsWith('$')) throw new Error(`The statement ${name} has the position ${token}; give it a name`);
    if (parameter === undefined) return token;
    used_names.add(parameter);
    const at = (parameters as readonly string[]).indexOf(parameter);
    if (at < 0) throw new Error(`The statement ${name} uses :${parameter}, which is not among its parameters`);
    return `$${at + 1}`;
  });
  const idle = parameters.filter((parameter) => !used_names.has(parameter));
  if (idle.length > 0) throw new Error(`The statement ${name} does not use its parameters ${idle.join(', ')}`);
  const prepared = { name, text: positional };
  const query = (...[values]: readonly Readonly<Record<P, Value>>[]) => ({
    ...prepared,
    values: values ? parameters.map((parameter) => values[parameter]) : [],
  });
  return Object.assign(query, { prepared });
}

/**
 * Returns the condition that a data-modifying WITH has run, whether or not it changed a row. Postgres runs such a WITH when it is first
 * read, so a condition that reads it forces the order in which a statement locks rows and numbers events.
 */
export const hasRun = (name: string) => `(SELECT count(*) FROM ${name}) >= 0`;
