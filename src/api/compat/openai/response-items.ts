import type { Warning } from '../../../contracts/common.ts';
import type { CompatItem } from '../../../contracts/compat-requests.ts';
import { AppError } from '../../../domain/errors.ts';
import { isRecord } from '../../../domain/records.ts';
import { formatToolOutput, formatValue } from './client-tools.ts';

/** An item of a request, and where it was in the request. */
export interface PlacedItem<Item> {
  item: Item;
  path: string;
}

export const placeItems = <Item>(items: readonly Item[], param: string): PlacedItem<Item>[] =>
  items.map((item, index) => ({ item, path: `${param}.${index}` }));

type Fields = Record<string, unknown>;

const createCall = ({ id, call_id = id }: Fields, name: unknown, args: unknown) =>
  ({ type: 'function_call', call_id, name, arguments: formatValue(args ?? {}) }) as CompatItem;

const createOutput = ({ id, call_id = id }: Fields, output: unknown) =>
  ({ type: 'function_call_output', call_id, output: formatValue(output) }) as CompatItem;

/** Returns a call and, if there is one, its result. */
const createPair = (item: Fields, name: unknown, args: unknown, output: unknown): CompatItem[] => [
  createCall(item, name, args),
  ...(output === undefined || output === null || output === '' ? [] : [createOutput(item, output)]),
];

const listParts = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const joinLines = (texts: unknown[]) => texts.filter((text) => typeof text === 'string' && text !== '').join('\n');

const describeOutcome = (outcome: unknown) => {
  const { type, exit_code } = Object(outcome) as Fields;
  return type === 'timeout' ? 'timed out' : type === 'exit' ? `exit code ${exit_code}` : '';
};

/** How an item of each type is kept: as calls and results, of which an agent gets the text. An empty list: it has no text to keep. */
const KEPT: Record<string, (item: Fields) => CompatItem[]> = {
  function_call: (item) => [item as CompatItem],
  function_call_output: (item) => [item as CompatItem],
  custom_tool_call: (item) => [createCall(item, item.name, item.input)],
  // The result keeps its parts, of which files are refused.
  custom_tool_call_output: (item) => [{ ...item, type: 'function_call_output' } as CompatItem],
  mcp_call: (item) => createPair(item, item.name, item.arguments, item.output ?? item.error),
  code_interpreter_call: (item) =>
    createPair(
      item,
      'code_interpreter',
      { code: item.code ?? '' },
      joinLines(listParts(item.outputs).map(({ type, logs }) => (type === 'image' ? '[an image]' : logs))),
    ),
  file_search_call: (item) => {
    const results = listParts(item.results).filter(({ text }) => text);
    const output = joinLines(results.map(({ filename, text }) => (filename ? `${filename}: ${text}` : text)));
    return output === '' ? [] : createPair(item, 'file_search', { queries: item.queries }, output);
  },
  // The environment of a command may contain secrets.
  local_shell_call: (item) => [createCall(item, 'local_shell', { command: Object(item.action).command })],
  local_shell_call_output: (item) => [createOutput(item, item.output ?? '')],
  shell_call: (item) => [createCall(item, 'shell', { commands: Object(item.action).commands })],
  shell_call_output: (item) => [
    createOutput(
      item,
      typeof item.output === 'string'
        ? item.output
        : joinLines(listParts(item.output).flatMap((part) => [part.stdout, part.stderr, describeOutcome(part.outcome)])),
    ),
  ],
  program: (item) => [createCall(item, 'program', { code: item.code })],
  program_output: (item) => [createOutput(item, item.result ?? '')],
  apply_patch_call: (item) => [createCall(item, 'apply_patch', item.operation)],
  apply_patch_call_output: (item) => [createOutput(item, formatToolOutput(item.output) || (item.status ?? ''))],
};

/** Returns true for a message, also under the name of another program; an item with a role but without content is none. */
const isMessage = (type: string, { role, content }: CompatItem) =>
  type === 'message' || (role !== undefined && content !== undefined);

/** Returns the type of an item; a bare id refers to another item. */
export const getItemType = (item: CompatItem): string =>
  item.type ?? (item.role === undefined && item.content === undefined && 'id' in item ? 'item_reference' : 'message');

/** Returns an item as the messages, calls and results that an agent is given; an empty list if it has nothing for an agent. */
function convertItem(item: CompatItem): CompatItem[] {
  const type = getItemType(item);
  const keep = Object.hasOwn(KEPT, type) ? KEPT[type] : undefined;
  return keep ? keep(item) : isMessage(type, item) ? [item] : [];
}

/** Returns true if an agent gets nothing of an item: it only records what happened at another service. */
export const isRecordOnly = (item: CompatItem): boolean => convertItem(item).length === 0;

interface SelectedItems {
  items: PlacedItem<CompatItem>[];
  warnings: Warning[];
}

/**
 * Selects what an agent is given of the items of a response's input. Clients send back whole answers of other services: calls
 * become text, and items that only record what happened there are left out with a warning; strict handling refuses them.
 */
export function selectItems(items: readonly CompatItem[], param: string, strict: boolean): SelectedItems {
  const placed_items = placeItems(items, param);
  const left_out = placed_items.filter(({ item }) => isRecordOnly(item));
  const [first] = left_out;
  if (first && strict) throw createContentError(first.path, `Items of type ${getShownType(first)} cannot be sent to an agent`);
  if (first && left_out.length === items.length)
    throw createContentError(
      param,
      `The input has only items of type ${listTypes(left_out).join(', ')}, which no agent is given: add a message of the user`,
    );
  return {
    items: placed_items.flatMap(({ item, path }) => convertItem(item).map((converted) => ({ item: converted, path }))),
    warnings: listTypes(left_out).map((type) => createWarning(type, left_out)),
  };
}

const getShownType = ({ item }: PlacedItem<CompatItem>) => getItemType(item).slice(0, 100);
const listTypes = (items: readonly PlacedItem<CompatItem>[]) => [...new Set(items.map(getShownType))];

function createWarning(type: string, left_out: readonly PlacedItem<CompatItem>[]): Warning {
  const [first, ...others] = left_out.filter((placed) => getShownType(placed) === type);
  const subject = others.length > 0 ? `${others.length + 1} items of type ${type} were` : `An item of type ${type} was`;
  return { path: first!.path, message: `${subject} left out: the agent is given messages, calls and their results` };
}

export const createContentError = (path: string, message: string) =>
  new AppError('invalid', message, { code: 'unsupported_content', errors: [{ path, message }] });
