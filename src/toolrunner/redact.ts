const SHORTEST = 6;
const MARK = '[redacted]';
const SHORTEST_PIECE = 4;

/** Takes secrets out of what a tool gave back. Values shorter than 6 characters are left: they would match by chance. */
export function redactor(values: readonly string[]) {
  const secrets = values.flatMap((value) => [value, value.trim()]).filter((value) => value.length >= SHORTEST);
  const spellings = [...new Set(secrets.flatMap(spell))].sort((a, b) => b.length - a.length);
  const text = (input: string) => spellings.reduce((out, secret) => out.replaceAll(secret, MARK), input);
  return {
    text,
    /** Every text of a value, keys included. */
    value: (input: unknown): unknown => walk(input, text),
    /** The result is still JSON afterwards, even where a secret looks like a number or like syntax. */
    json(input: string): string {
      const plain = text(input);
      if (plain === input || isJson(plain)) return plain;
      return JSON.stringify(walk(JSON.parse(input), text));
    },
    /** Output may have been cut in the middle of a secret; its first half goes too. */
    output(input: string, bytes: number): string {
      const plain = text(input);
      return bytes > Buffer.byteLength(input) ? cutTail(plain, secrets) : plain;
    },
  };
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);

/** As is, inside JSON and JSON inside that, in a URL, and in base64 (as in a basic authorization header). */
function spell(secret: string): string[] {
  const well = secret.toWellFormed();
  const once = inJson(secret);
  return [secret, once, inJson(once), encodeURIComponent(well), Buffer.from(well).toString('base64')];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function walk(value: unknown, text: (input: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, text));
  if (value && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), walk(item, text)]));
  const plain = String(value);
  return text(plain) === plain ? value : text(plain);
}

function cutTail(output: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    for (let length = secret.length - 1; length >= SHORTEST_PIECE; length -= 1) {
      if (output.endsWith(secret.slice(0, length))) return output.slice(0, -length) + MARK;
    }
  }
  return output;
}
