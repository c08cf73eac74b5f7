/** Changes the texts of a configuration; `secret` marks those that must not be shown. Everything else stays unchanged. */
export function mapTexts(config: unknown, change: (text: string, place: { secret: boolean; path: string }) => unknown): unknown {
  const walk = (value: unknown, place: { secret: boolean; path: string }, before?: unknown): unknown => {
    if (typeof value === 'string')
      return change(value, { ...place, secret: place.secret || looksSecret(value) || afterFlag(before) });
    if (Array.isArray(value))
      return value.map((item, index) => walk(item, { ...place, path: join(place.path, index) }, value[index - 1]));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, inner]) => {
      const secret = place.secret || SECRET_NAME.test(key) || SECRET_PART.has(key);
      return [key, walk(inner, { secret, path: join(place.path, key) })];
    });
    return Object.fromEntries(entries);
  };
  return walk(config, { secret: false, path: '' });
}

const join = (path: string, key: string | number) => (path ? `${path}.${key}` : String(key));

export const SECRET_NAME = /token|key|secret|passw|passphrase|passcode|pwd|credential|authorization|bearer|cookie|signature/i;
export const namesSecret = (name: string) => SECRET_NAME.test(name);
/** The parts of a configuration whose values are secret under any key. */
const SECRET_PART = new Set(['env', 'headers']);

/** Matches a text that holds only the name of a stored token, perhaps after a word such as `Bearer`. */
const TEMPLATE = /^(?:[A-Za-z]+ )?\{\{\s*token:[\w.-]+\s*\}\}$/;
export const isTemplate = (text: string) => TEMPLATE.test(text);

/** Matches the name of a stored token anywhere in a text. */
const NAMED = /\{\{\s*token:([\w.-]+)\s*\}\}/g;

/** True for texts that are secret in any place: a password in a URL, a flag with a key, a token of a known format. */
const looksSecret = (text: string) =>
  hasPassword(text) ||
  isKeyedUrl(text) ||
  namesSecret(/^--?([\w-]*)=./.exec(text)?.[1] ?? '') ||
  /^(?:gh[a-z]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA|eyJ)[\w.-]{8,}/.test(text);

function hasPassword(url: string): boolean {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#\s]*)/i.exec(url)?.[1] ?? '';
  const colon = authority.indexOf(':');
  return colon >= 0 && authority.lastIndexOf('@') > colon + 1;
}

const isKeyedUrl = (text: string) =>
  /^[a-z][a-z0-9+.-]*:\/\/\S*[?&]/i.test(text) &&
  text
    .split('=')
    .slice(0, -1)
    .some((before) => namesSecret(queryName(before)));

/** Returns the name of a query's value, from the text before it. */
const queryName = (before: string) => {
  const at = before.includes('&') ? before.lastIndexOf('&') : before.indexOf('?');
  return at < 0 ? '' : before.slice(at + 1);
};

const afterFlag = (before: unknown) => typeof before === 'string' && namesSecret(/^--?([\w-]*)$/.exec(before)?.[1] ?? '');

/** Lists the names of stored tokens that a configuration refers to, each once. */
export function listTokenNames(config: unknown): string[] {
  const names = new Set<string>();
  mapTexts(config, (text) => {
    for (const [, name] of text.matchAll(NAMED)) names.add(name as string);
    return text;
  });
  return [...names];
}

/** Replaces the names of stored tokens in a configuration by their values. */
export function fillTokens(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(NAMED, (whole, name: string) => values.get(name) ?? whole);
}

/**
 * Matches a part of a path that people chose as a name, such as `hooks`, `perdura-runs` or `v2`. Anything that looks random may
 * be a key.
 */
const PLAIN_PART = /^(?:[A-Z]?[a-z]{1,14}(?:[-_.][A-Z]?[a-z]{1,14}){0,3}|v\d{1,2}|\d{1,3})$/;

/**
 * Returns the address of a webhook as others may read it. Services put the key that allows to post into the path or the query, so
 * everything except the host is masked, unless it plainly holds no key.
 */
export function maskWebhook(url: string, mask: string): string {
  const { origin, pathname, search, hash, username, password } = new URL(url);
  const is_plain =
    `${search}${hash}${username}${password}` === '' && pathname.split('/').every((part) => part === '' || PLAIN_PART.test(part));
  return is_plain ? url : `${origin}/${mask}`;
}
