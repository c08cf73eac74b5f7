import { namesSecret } from './secrets.ts';

/** The least length of a redacted value: shorter ones would match by chance. */
const SHORTEST = 6;
const SHORTEST_LINE = 16;
const WORD_CHARACTERS = 15;

/** Returns all texts in which a secret may reappear: the value, its parts, and both in the usual encodings. */
export function secretSpellings(value: string): string[] {
  const texts = [value, value.trim(), ...listSecretParts(value)].filter((text) => text.length >= SHORTEST);
  return [...new Set([...new Set(texts)].flatMap(spell))].filter((text) => text.length >= SHORTEST);
}

/**
 * Returns the parts of a composite value that are secrets by themselves: after `Bearer`, in an address, in a cookie, in JSON, in
 * lines.
 */
function listSecretParts(value: string): string[] {
  const text = value.trim();
  const scheme = /^([\w-]+)[ =:]+([^\s=:]\S*)$/.exec(text);
  if (scheme?.[1]?.toLowerCase() === 'basic') return basicParts(scheme[2] as string);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return addressParts(text);
  if (text.startsWith('{')) return jsonParts(text);
  const lines = text.includes('\n') ? text.split('\n').map((line) => line.trim()) : [];
  const pairs = text.includes(';') ? [...text.matchAll(/=([^;\s]{8,})/g)].map(([, part]) => part as string) : [];
  return [
    ...lines.filter((line) => line.length >= SHORTEST_LINE && !/^-----/.test(line)),
    ...pairs,
    ...(scheme ? [scheme[2] as string] : []),
  ];
}

function basicParts(credentials: string): string[] {
  const pair = Buffer.from(credentials, 'base64').toString();
  return [credentials, pair, pair.slice(pair.indexOf(':') + 1)];
}

function addressParts(text: string): string[] {
  const address = URL.canParse(text) ? new URL(text) : null;
  if (!address) return [];
  const queried = [...address.searchParams].flatMap(([name, part]) => (namesSecret(name) ? [part] : []));
  return [address.password, decodeIfEncoded(address.password), ...queried];
}

function jsonParts(text: string): string[] {
  const parts: string[] = [];
  try {
    JSON.parse(text, (name, part) => {
      if (typeof part === 'string' && namesSecret(name)) parts.push(part);
      return part;
    });
  } catch {
    // Not JSON: it has no separate parts.
  }
  return parts;
}

function decodeIfEncoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * True for a value that is sealed only because of its place and does not look like a secret: `production`, `application/json`,
 * `2024-01-01`.
 */
export function isOrdinary(text: string): boolean {
  if (URL.canParse(text) && /^https?:/.test(text)) {
    const { password, search } = new URL(text);
    return password === '' && search === '';
  }
  const words = text.replace(/\butf-8\b/i, '').split(/[^A-Za-z0-9]+/);
  const allMatch = (shape: RegExp) => words.every((word) => shape.test(word));
  // A mix of letters and digits may be a secret that somebody made up: hunter-22.
  return allMatch(/^\d{0,4}$/) || (allMatch(/^[A-Za-z]*$/) && words.every(({ length }) => length <= WORD_CHARACTERS));
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
const inAscii = (text: string) =>
  text.replaceAll(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
const HTML: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function spell(text: string): string[] {
  const once = inJson(text);
  const well = text.toWellFormed();
  const bytes = Buffer.from(well);
  const quoted = encodeURIComponent(well);
  const strict = quoted.replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const html = text.replaceAll(/[&<>"']/g, (character) => HTML[character] as string);
  return [
    text,
    ...listJsonNestings(once),
    ...listJsonNestings(inAscii(once)),
    text.replaceAll("'", "\\'"),
    html,
    html.replaceAll('&#39;', '&#x27;'),
    html.replaceAll('&quot;', '&#34;'),
    ...[quoted, strict, quoted.replaceAll('%20', '+'), encodeURI(well)].flatMap((url) => [url, lowerEscapes(url)]),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...listBase64Forms(bytes).flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_'), encodeURIComponent(form)]),
  ];
}

/**
 * The number of times that JSON may be quoted in JSON, as in the arguments of a call or in an event. Each time doubles the
 * backslashes.
 */
const DEEPEST = 5;

function listJsonNestings(text: string): string[] {
  const forms = [text];
  for (let depth = 1; depth < DEEPEST; depth += 1) forms.push(inJson(forms.at(-1) as string));
  return forms;
}

const lowerEscapes = (url: string) => url.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());

/**
 * Returns the Base64 of the whole text, and the characters that depend on it alone when it is encoded with text before and after
 * it.
 */
function listBase64Forms(bytes: Buffer): string[] {
  const inside = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return encoded.slice(before === 0 ? 0 : before + 1, Math.floor(((before + bytes.length) * 8) / 6));
  });
  return [bytes.toString('base64'), bytes.toString('base64').replace(/(?<!=)=+$/, ''), ...inside];
}
