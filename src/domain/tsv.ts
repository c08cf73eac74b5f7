import { isExactNumber, parseExact } from './exact-json.ts';
import { isRecord } from './records.ts';

type Scalar = string | number | boolean | null | ReturnType<typeof JSON.rawJSON>;

/** Returns a tool's result as shown to the model: an array of flat objects becomes tab-separated values if that is shorter. */
export function shorterAsTsv(result: string): string {
  const rows = parseRows(result);
  if (!rows) return result;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0 || columns.some((name) => /[\t\n\r]/.test(name))) return result;
  // The separators alone would be longer. Without this check, rows without a common column would fill the memory.
  if (rows.length * columns.length > result.length) return result;
  const lines = rows.map((row) => columns.map((name) => formatCell(row[name])).join('\t'));
  const table = [columns.join('\t'), ...lines].join('\n');
  return table.length < result.length ? table : result;
}

/**
 * Returns the rows of a result that is an array of flat objects, either directly or as a tool's wrapped `result`; null for any
 * other.
 */
function parseRows(text: string): Record<string, Scalar>[] | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    const value = parseExact(text);
    const list = isObject(value) && Object.keys(value).length === 1 ? value.result : value;
    return Array.isArray(list) && list.every(isFlat) ? list : null;
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => isRecord(value) && !isExactNumber(value);
const isFlat = (value: unknown): value is Record<string, Scalar> =>
  isObject(value) && Object.values(value).every((cell) => typeof cell !== 'object' || cell === null || isExactNumber(cell));

/** Escapes characters that would break the table. A missing value, null and the empty text stay distinct. */
function formatCell(value: Scalar | undefined): string {
  if (value === undefined) return '';
  if (isExactNumber(value)) return value.rawJSON;
  if (typeof value !== 'string') return String(value);
  const text = value.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return text === '' || text === 'null' || text === 'true' || text === 'false' || isNumeric(text) ? `"${text}"` : text;
}

const isNumeric = (text: string) => text.trim() !== '' && !Number.isNaN(Number(text));
