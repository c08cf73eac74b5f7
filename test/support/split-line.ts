/** Splits a line into words as a shell does, as far as double quotes go. */
export const splitLine = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
