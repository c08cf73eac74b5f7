const NAME_CHARACTERS = 64;
const NUMBER_CHARACTERS = 4;

/** Returns a name in the characters that every model endpoint accepts. */
export const modelName = (name: string) => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, NAME_CHARACTERS);

/** Returns a tool's name prefixed with that of its source, for a tool whose own name is taken. */
export const prefixName = (prefix: string, name: string) => `${prefix}_${name}`.slice(0, NAME_CHARACTERS);

const stem = (prefixed: string) => prefixed.slice(0, NAME_CHARACTERS - NUMBER_CHARACTERS);

/** Returns an unused name: the name itself, otherwise prefixed with its source, otherwise with a number. */
export function freeToolName(name: string, prefix: string, used_names: Pick<Map<string, unknown>, 'has'>): string {
  if (!used_names.has(name)) return name;
  const base = prefixName(prefix, name);
  for (let shownName = base, number = 2; ; number += 1) {
    if (!used_names.has(shownName)) return shownName;
    shownName = `${stem(base)}_${number}`;
  }
}

/** True if `freeToolName` can have given a tool this name because even the prefixed name was taken. */
export const isNumbered = (name: string, prefixed: string): boolean =>
  name.startsWith(`${stem(prefixed)}_`) && /^\d+$/.test(name.slice(stem(prefixed).length + 1));

/** What models write before the name of a tool. */
const PREFIX = /^(?:functions?|tools?|default_api|tool_call|function_call)(?:::|[.:/]) ?/i;
/** What models write after it: the number of the call, or the brackets of a call in code. */
const SUFFIX = /(?:\(\)|:\d{0,4})$/;

/**
 * Returns the name of the tool that a model means: the name as written if there is such a tool, otherwise without blanks, quotes and what
 * another vendor's format puts around it, if exactly that tool exists. Any other name stays as written.
 */
export function findMeantTool(written: string, tools: { has(name: string): boolean }): string {
  if (tools.has(written)) return written;
  const plain = written
    .trim()
    .replace(/^(["'`])(.*)\1$/s, '$2')
    .trim();
  // The marks of gpt-oss's channels follow the name.
  const [unmarked = ''] = plain.split('<|');
  const bare = unmarked
    .trim()
    .replace(/^print\((.*)\)$/s, '$1')
    .replace(/^<([^<>]*)>$/, '$1')
    .replace(SUFFIX, '');
  return (
    [plain, ...[plain, unmarked, bare].map((name) => name.replace(PREFIX, '')), bare].find((name) => tools.has(name)) ?? written
  );
}
