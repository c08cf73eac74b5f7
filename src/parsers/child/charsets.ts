/** The longest beginning of a page in which it may declare its character set, as browsers read it. */
const DECLARED_WITHIN = 1024;

const MARKS: [label: string, bytes: number[]][] = [
  ['utf-32', [0xff, 0xfe, 0, 0]],
  ['utf-32', [0, 0, 0xfe, 0xff]],
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
  // XML in UTF-16 without a mark.
  ['utf-16le', [0x3c, 0, 0x3f, 0]],
  ['utf-16be', [0, 0x3c, 0, 0x3f]],
];

/** Returns the character set that the beginning of an HTML or XML file declares. */
function findDeclared(head: string): string | undefined {
  for (const tag of head.split('<').map((part) => part.split('>')[0]!)) {
    const kind = tag.slice(0, 5).toLowerCase();
    const label = kind.startsWith('?xml')
      ? readValue(tag, 'encoding')
      : kind.startsWith('meta')
        ? readValue(tag, 'charset')
        : null;
    if (label) return label;
  }
  return undefined;
}

/** Returns the value after a name and `=` in a tag, with or without quotes. */
function readValue(tag: string, name: string): string | null {
  const at = tag.toLowerCase().lastIndexOf(name);
  const rest = at < 0 ? '' : tag.slice(at + name.length).trimStart();
  if (!rest.startsWith('=')) return null;
  const value = rest.slice(1).trimStart().replace(/^["']/, '').trimStart();
  return /^[^\s"'/;]+/.exec(value)?.[0] ?? null;
}

/**
 * Decodes a text file: by its byte order mark, as UTF-8 if it is that, or, for HTML and XML, by the character set that it declares.
 * Throws a sentence if none of these fits.
 */
export function decodeText(content: Uint8Array): string {
  const [marked] = MARKS.find(([, bytes]) => bytes.every((byte, index) => content[index] === byte)) ?? [];
  if (marked) return decode(content, marked);
  const head = new TextDecoder('latin1').decode(content.subarray(0, DECLARED_WITHIN));
  const declared = findDeclared(head);
  // Every byte of ISO-2022-JP is ASCII, so its bytes are also valid UTF-8.
  const is_escaped = /^(?:csiso2022jp|iso-2022-jp)$/i.test(declared ?? '');
  if (looksWide(content)) throw new Error('it looks like UTF-16 without a byte order mark; save it as UTF-8');
  return (is_escaped ? null : tryDecode(content, 'utf-8')) ?? decode(content, declared);
}

/** True if at least a quarter of the bytes are zero, as in UTF-16 of Latin letters. */
function looksWide(content: Uint8Array): boolean {
  const head = content.subarray(0, DECLARED_WITHIN);
  return head.length >= 4 && head.filter((byte) => byte === 0).length * 4 >= head.length;
}

function decode(content: Uint8Array, label: string | undefined): string {
  if (label === undefined) throw new Error('it is not UTF-8 text, and does not declare another character set; save it as UTF-8');
  const text = tryDecode(content, label);
  if (text === null)
    throw new Error(`it cannot be read as ${label.slice(0, 40)}, the character set that it declares; save it as UTF-8`);
  return text;
}

function tryDecode(content: Uint8Array, label: string): string | null {
  try {
    return new TextDecoder(label, { fatal: true }).decode(content);
  } catch {
    return null;
  }
}
