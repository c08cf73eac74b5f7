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
const PREFIX = /^(?:functions?|tools?|default_api)[.:/]/i;

/**
 * Returns the name of the tool that a model means: the name as written if there is such a tool, otherwise without blanks, quotes and the
 * prefix of another vendor's format, if exactly that tool exists. Any other name stays as written.
 */
export function findMeantTool(written: string, tools: { has(name: string): boolean }): string {
  if (tools.has(written)) return written;
  const plain = written
    .trim()
    .replace(/^(["'`])(.*)\1$/s, '$2')
    .trim();
  return [plain, plain.replace(PREFIX, '')].find((name) => tools.has(name)) ?? written;
}
