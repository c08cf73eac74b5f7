import { parseExact } from '../domain/exact-json.ts';
import { jsonText, MOST_CALLS, tooManyCalls, toText } from '../domain/normalise.ts';
import { type ArgumentPieces, collectArguments } from './call-arguments.ts';

/** A piece of a streamed call as endpoints send it, or a whole call. Any field may be missing. */
export interface CallPart extends NamedCall {
  index?: unknown;
  id?: unknown;
  function?: NamedCall | null;
  /** A call of a tool without a schema, which a gateway may use for every tool. */
  custom?: NamedCall | null;
  extra_content?: unknown;
}

interface NamedCall {
  name?: unknown;
  arguments?: unknown;
  parameters?: unknown;
  input?: unknown;
}

/** Returns the name and the arguments of a piece, whatever holds them. Some endpoints send an object instead of its text. */
export function readNamed(part: CallPart): { name: string; arguments: string } {
  const { name, arguments: args, parameters, input } = part.function ?? part.custom ?? part;
  return { name: toText(name), arguments: jsonText(args ?? parameters ?? input) };
}

interface AssembledCall {
  id: string;
  name: string;
  arguments: string;
  /** What the endpoint adds to the call; undefined if it adds nothing. */
  extra: unknown;
}

interface OpenCall {
  indexes: Set<number>;
  ids: Set<string>;
  name: string;
  arguments: ArgumentPieces;
  /** The number of its pieces. */
  pieces: number;
  /** The call whose name came again after its arguments. If nothing follows, this is not another call. */
  repeats: OpenCall | null;
  extra: unknown;
}

interface Piece {
  index: number | null;
  id: string;
  name: string;
  arguments: string;
  extra: unknown;
}

/**
 * Assembles the calls of a streamed reply. Endpoints mark the pieces of a call by index, by id, by both or by neither; they leave
 * out, repeat and change these marks. So a piece belongs to the call that its marks name, unless that call is whole and the piece
 * begins another one. `known`: the names of the offered tools, which distinguish a repeated name from one that comes in pieces.
 */
export function assembleCalls(known: ReadonlySet<string> = new Set()) {
  const calls: OpenCall[] = [];
  /** The calls of the last list with several pieces, in its order. */
  let together: OpenCall[] = [];
  let newest: OpenCall | undefined;

  function findCall(piece: Piece, position: number | null): OpenCall | undefined {
    const { index, id } = piece;
    const at_index = index === null ? undefined : calls.findLast(({ indexes }) => indexes.has(index));
    const with_id =
      id === ''
        ? undefined
        : (calls.findLast((call) => call.ids.has(id) && (!at_index || call.indexes.has(index!))) ??
          calls.findLast(({ ids }) => ids.has(id)));
    // Some endpoints give all calls one id; then a new index begins another call.
    if (with_id && !(index !== null && !at_index && couldBeginAfter(piece, with_id))) return with_id;
    if (index !== null) return at_index ?? (isContinuation(piece, newest) ? newest : undefined);
    const parallel = position === null ? undefined : together[position];
    if (parallel && !parallel.arguments.isClosed()) return parallel;
    // Without an index or an id, every name in a list is a call.
    return position && piece.name !== '' ? undefined : newest;
  }

  function open(): OpenCall {
    if (calls.length >= MOST_CALLS) throw tooManyCalls();
    const marks = { indexes: new Set<number>(), ids: new Set<string>() };
    const call = { ...marks, name: '', arguments: collectArguments(), pieces: 0, repeats: null, extra: undefined };
    calls.push(call);
    return call;
  }

  function take(piece: Piece, position: number | null): OpenCall {
    const found = findCall(piece, position);
    const begins = !found || beginsAnother(piece, found, known);
    const call = begins ? open() : found;
    const has_new_id = piece.id !== '' && !found?.ids.has(piece.id);
    if (begins && found && !has_new_id) call.repeats = found;
    if (piece.index !== null) call.indexes.add(piece.index);
    if (piece.id !== '') call.ids.add(piece.id);
    call.name = joinName(call.name, piece.name, known);
    call.arguments.add(piece.arguments);
    call.pieces += 1;
    if (piece.extra) call.extra = piece.extra;
    newest = call;
    return call;
  }

  return {
    /** Takes the pieces of one chunk. */
    add(parts: readonly CallPart[]): void {
      const pieces = parts.map(toPiece);
      const touched = pieces.map((piece, position) => take(piece, pieces.length > 1 ? position : null));
      if (touched.length > 1) together = touched;
    },
    /** Returns the calls in order, each once. Throws if one is nested too deep. */
    all: (): AssembledCall[] => withoutRepetitions(sortByIndex(withoutEmpty(calls))).map(toCall),
    /** True if every call has whole arguments, none of them a placeholder for arguments that may have been cut. */
    areWhole: (): boolean => calls.length > 0 && calls.every(({ arguments: args }) => args.isClosed() && !args.isPlaceholder()),
  };
}

function toPiece(part: CallPart): Piece {
  const { index, id, extra_content } = part;
  const at = typeof index === 'string' && index !== '' ? Number(index) : index;
  return {
    index: typeof at === 'number' && Number.isInteger(at) ? at : null,
    id: typeof id === 'number' ? String(id) : toText(id),
    ...readNamed(part),
    extra: extra_content,
  };
}

/** True if a piece at a new place continues the newest call, because it could not begin one. */
const isContinuation = ({ id, name }: Piece, newest: OpenCall | undefined): boolean =>
  name === '' && newest !== undefined && !newest.arguments.isClosed() && (id === '' || newest.ids.size === 0);

/** True if a piece at a new index with a call's own id may begin another call, instead of continuing it. */
function couldBeginAfter(piece: Piece, { arguments: args }: OpenCall): boolean {
  if (piece.name !== '') return args.isEmpty() || args.isClosed();
  return args.isClosed() && (!args.isPlaceholder() || piece.arguments.trim() === '');
}

/** True if a piece does not belong to the call that its marks name. */
function beginsAnother(piece: Piece, call: OpenCall, known: ReadonlySet<string>): boolean {
  const args = call.arguments;
  const has_other_id = piece.id !== '' && call.ids.size > 0 && !call.ids.has(piece.id);
  const is_blank = piece.arguments.trim() === '';
  if (piece.name === '') return has_other_id && args.isClosed() && (is_blank || !args.isPlaceholder());
  if (call.name === '') return false;
  if (args.isClosed()) {
    if (has_other_id || isOtherName(piece.name, call.name, known)) return true;
    // After a placeholder the arguments follow; a whole call without any id is another call.
    return !args.isPlaceholder() || (!is_blank && call.ids.size === 0 && isWhole(piece.arguments));
  }
  const has_next_name = known.has(call.name) && isOtherName(piece.name, call.name, known);
  if (!has_other_id) return has_next_name && !call.ids.has(piece.id);
  if (has_next_name || piece.arguments === '') return true;
  if (args.isEmpty()) return false;
  if (/^\s*\{/.test(piece.arguments) && !args.acceptsBrace()) return true;
  // Some endpoints give every piece another id, and repeat the name.
  return call.ids.size < call.pieces;
}

/** True if a piece of a name is neither the next part of a call's name nor a repetition of it. */
const isOtherName = (piece: string, name: string, known: ReadonlySet<string>): boolean =>
  piece !== name && !isPrefix(name + piece, known);

const isPrefix = (text: string, known: ReadonlySet<string>): boolean => [...known].some((name) => name.startsWith(text));

const isWhole = (text: string): boolean => {
  const pieces = collectArguments();
  pieces.add(text);
  return pieces.isClosed();
};

/** Adds a piece to a name. It is the next part of the name, the whole of it again, or all of it so far. */
function joinName(name: string, piece: string, known: ReadonlySet<string>): string {
  const joined = name + piece;
  if (piece === name) return known.has(name) || !isPrefix(joined, known) ? name : joined;
  return piece.startsWith(name) && !isPrefix(joined, known) ? piece : joined;
}

const toCall = ({ ids, name, arguments: args, extra }: OpenCall): AssembledCall => ({
  id: [...ids][0] ?? '',
  name,
  arguments: args.text(),
  extra,
});

/** Leaves out what is not a call: an id without a name or arguments, or a name that came again at the end. */
const withoutEmpty = (calls: readonly OpenCall[]): readonly OpenCall[] => {
  const filled = calls.filter(({ name, arguments: args, repeats }) => !args.isEmpty() || (name !== '' && name !== repeats?.name));
  return filled.length > 0 ? filled : calls;
};

/** Sorts calls by their index, if each has its own. */
function sortByIndex(calls: readonly OpenCall[]): OpenCall[] {
  const indexes = calls.flatMap((call) => (call.indexes.size === 1 ? [...call.indexes] : []));
  if (indexes.length < calls.length || new Set(indexes).size < calls.length) return [...calls];
  const at = (call: OpenCall) => [...call.indexes][0]!;
  return calls.toSorted((one, other) => at(one) - at(other));
}

/** Leaves out calls that an endpoint sent again as a whole. */
function withoutRepetitions(calls: readonly OpenCall[]): OpenCall[] {
  const contents = calls.map(({ name, arguments: args }) => `${name} ${canonical(args.text())}`);
  return calls.filter(
    (call, at) => !calls.slice(0, at).some((earlier, place) => contents[place] === contents[at] && isMarkedAs(call, earlier)),
  );
}

/** True if two calls have a mark in common, and none that distinguishes them. */
function isMarkedAs(one: OpenCall, other: OpenCall): boolean {
  const has_shared_id = [...one.ids].some((id) => other.ids.has(id));
  const has_shared_index = [...one.indexes].some((index) => other.indexes.has(index));
  const ids_differ = one.ids.size > 0 && other.ids.size > 0 && !has_shared_id;
  const indexes_differ = one.indexes.size > 0 && other.indexes.size > 0 && !has_shared_index;
  return (has_shared_id || has_shared_index) && !ids_differ && !indexes_differ;
}

/** Returns JSON without blanks between its values, with the digits of long integers. */
function canonical(text: string): string {
  try {
    return JSON.stringify(parseExact(text));
  } catch {
    return text;
  }
}
