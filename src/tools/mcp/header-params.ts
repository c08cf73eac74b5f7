type Fields = Record<string, unknown>;

/** An argument that a server wants as a header, too, so that proxies can read it. */
interface HeaderParam {
  path: string[];
  header: string;
}

const KEY = 'x-mcp-header';
const PREFIX = 'Mcp-Param-';
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES: unknown[] = ['string', 'integer', 'boolean'];
/** The keywords whose values are data, not schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'required']);

/**
 * Returns the arguments of a tool that are sent as headers; a sentence if its schema asks for that in a way that the protocol does
 * not allow.
 */
export function findHeaderParams(schema: unknown): HeaderParam[] | string {
  const params: HeaderParam[] = [];
  const fault = visit(schema, [], params);
  if (fault) return fault;
  const names = params.map(({ header }) => header.toLowerCase());
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  return repeated === undefined ? params : `its schema names the header ${repeated} more than once`;
}

/** Adds the parameters below a schema to `params`; returns what is wrong with the first that is not allowed. No path: none is. */
function visit(schema: unknown, path: string[] | null, params: HeaderParam[]): string | null {
  if (typeof schema !== 'object' || schema === null) return null;
  const header = (schema as Fields)[KEY];
  if (header !== undefined) {
    const fault = findFault(schema as Fields, path);
    if (fault || !path) return fault;
    params.push({ path, header: header as string });
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (DATA.has(keyword) || keyword === KEY) continue;
    const is_properties = keyword === 'properties' && typeof value === 'object' && value !== null;
    const faults = is_properties
      ? Object.entries(value).map(([name, inner]) => visit(inner, path && [...path, name], params))
      : [visit(value, null, params)];
    const fault = faults.find((one) => one !== null);
    if (fault) return fault;
  }
  return null;
}

function findFault({ [KEY]: header, type }: Fields, path: string[] | null): string | null {
  const place = path?.join('.');
  if (!place) return `its schema asks for a header (${KEY}) where only a property may`;
  if (typeof header !== 'string' || !TOKEN.test(header)) return `its schema names no valid header for ${place} (${KEY})`;
  return TYPES.includes(type) ? null : `its schema asks for a header for ${place}, which is no text, integer or boolean (${KEY})`;
}

/** Returns the headers of a call. A schema that is not valid has none, and neither has an argument that is absent. */
export function createParamHeaders(schema: unknown, args: Fields): Record<string, string> {
  const params = findHeaderParams(schema);
  if (typeof params === 'string') return {};
  const entries = params.flatMap(({ path, header }) => {
    const value = path.reduce<unknown>(
      (node, name) => (Object.hasOwn(Object(node), name) ? (node as Fields)[name] : undefined),
      args,
    );
    return value === undefined || value === null
      ? []
      : [[`${PREFIX}${header}`, encode(typeof value === 'string' ? value : JSON.stringify(value))]];
  });
  return Object.fromEntries(entries);
}

/** Returns a value as the protocol writes it in a header: base64 if it is not plain visible text. */
const encode = (value: string): string =>
  /^[!-~](?:[ -~]*[!-~])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value)
    ? value
    : `=?base64?${Buffer.from(value.toWellFormed()).toString('base64')}?=`;
