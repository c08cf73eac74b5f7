import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findNearest, findUnknownFields, listUnreadWarnings } from '../../../src/api/http/fields.ts';
import { addOtherNames, isOtherName, needsRecord, respell } from '../../../src/api/http/spellings.ts';
import { parseWithWarnings } from '../../../src/api/http/validate.ts';
import { alsoTaken, otherNames } from '../../../src/contracts/common.ts';
import type { FieldError } from '../../../src/domain/errors.ts';

const Address = alsoTaken(z.string(), { names: ['address', 'link'] });
const Note = alsoTaken(z.string().nullable().default(null), { names: ['remark'] });
/** A field whose other names each stand for one kind of record. */
const Settings = alsoTaken(z.record(z.string(), z.unknown()).default({}), {
  names: ['car_settings', 'boat_settings'],
  nameFor: ({ kind }) => `${kind}_settings`,
});
const Kind = alsoTaken(z.enum(['car', 'boat']), { read: (kind) => (kind === 'automobile' ? 'car' : kind) });
const Thing = z.object({ url: Address.optional(), note: Note, kind: Kind.optional(), settings: Settings });

function read(value: unknown, more: { keeps_nulls?: boolean; now?: unknown } = {}, schema: z.ZodType = Thing) {
  const errors: FieldError[] = [];
  const result = respell(schema, value, { keeps_nulls: false, ...more, refuse: (error) => errors.push(error) });
  return errors.length > 0 ? errors : result;
}

describe('a field under another name', () => {
  it.each([
    ['its own', { url: 'a' }, { url: 'a' }],
    ['another', { link: 'a' }, { url: 'a' }],
    ['two with one value', { link: 'a', address: 'a' }, { url: 'a' }],
    ['all with one value', { url: 'a', link: 'a', address: 'a' }, { url: 'a' }],
    ['its own and an unknown one', { url: 'a', place: 'b' }, { url: 'a', place: 'b' }],
  ])('is read by %s', (_, sent, expected) => {
    expect(read(sent)).toEqual(expected);
  });

  it('is refused with several values, all of its names named', () => {
    expect(read({ url: 'a', link: 'b' })).toEqual([
      { path: 'url', message: '`url` and `link` are one field and have different values here; send one of them' },
    ]);
    expect(read({ list: [{ link: 'a', address: 'b' }] }, {}, z.object({ list: z.array(Thing) }))).toEqual([
      { path: 'list.0.address', message: '`address` and `link` are one field and have different values here; send one of them' },
    ]);
  });

  it('has the value that differs from the record, if there is one such value', () => {
    const now = { url: 'old' };
    expect(read({ url: 'old', link: 'new' }, { now })).toEqual({ url: 'new' });
    expect(read({ url: 'new', link: 'old' }, { now })).toEqual({ url: 'new' });
    expect(read({ url: 'new', link: 'new', address: 'old' }, { now })).toEqual({ url: 'new' });
    expect(read({ url: 'one', link: 'two', address: 'old' }, { now })).toEqual([
      { path: 'url', message: '`url` and `link` are one field and have different values here; send one of them' },
    ]);
  });

  it('that may be null is cleared by null, and one that may not ignores it', () => {
    expect(read({ remark: null }, { keeps_nulls: true, now: { note: 'x' } })).toEqual({ note: null });
    expect(read({ note: 'x', remark: null }, { keeps_nulls: true, now: { note: 'x' } })).toEqual({ note: null });
    expect(read({ url: 'a', link: null })).toEqual({ url: 'a' });
  });

  it('that stands for one kind of record is read for that kind, refused for another, and ignored if it is empty', () => {
    const full = { fast: true };
    expect(read({ kind: 'boat', boat_settings: full, car_settings: {} })).toEqual({ kind: 'boat', settings: full });
    expect(read({ boat_settings: full }, { now: { kind: 'boat' } })).toEqual({ settings: full });
    expect(read({ kind: 'car', boat_settings: full })).toEqual([
      { path: 'boat_settings', message: '`boat_settings` is for another kind of record; send `car_settings`' },
    ]);
    expect(read({ kind: 'car', settings: full, boat_settings: {} })).toEqual({ kind: 'car', settings: full });
    expect(read({ kind: 'car', boat_settings: {} })).toEqual({ kind: 'car' });
    expect(read({ kind: 'car', settings: null, boat_settings: {} }, { keeps_nulls: true })).toEqual({
      kind: 'car',
      settings: null,
    });
    const now = { kind: 'car', settings: full };
    expect(read({ ...now, boat_settings: { fast: false } }, { now })).toEqual([
      ...[{ path: 'settings', message: expect.stringMatching(/^`settings` and `boat_settings` are one field/) }],
    ]);
  });

  it('needs the record only if it was sent under several names, or under one that stands for a kind', () => {
    const sent = [{ url: 'a' }, { link: 'a' }, { url: 'a', link: 'a' }, { settings: {} }, { car_settings: {} }, null, 'x'];
    expect(sent.map((value) => needsRecord(Thing, value))).toEqual([false, false, true, false, true, false, false]);
  });

  it('is known as such', () => {
    expect(['link', 'remark', 'boat_settings', 'url', 'x'].map((name) => isOtherName(Thing.shape, name))).toEqual([
      ...[true, true, true],
      ...[false, false],
    ]);
  });
});

describe('a value in another form', () => {
  it('is read as ours, at any depth', () => {
    expect(read({ kind: 'automobile' })).toEqual({ kind: 'car' });
    const schema = z.object({ all: z.record(z.string(), z.array(Thing)) });
    expect(read({ all: { a: [{ kind: 'automobile', link: 'x' }] } }, {}, schema)).toEqual({
      all: { a: [{ kind: 'car', url: 'x' }] },
    });
  });
});

describe('a name that nothing reads', () => {
  it.each<[string, string[], [string, boolean] | null]>([
    ['colour', ['color', 'count'], ['color', true]],
    ['Colour', ['colour'], ['colour', true]],
    ['nme', ['name', 'note'], ['name', true]],
    ['api_key', ['api_key_token_name', 'url'], ['api_key_token_name', false]],
    ['the_url_of_it', ['name', 'url'], ['url', false]],
    ['ab', ['cd'], null],
    ['size', ['name', 'url'], null],
    ['x'.repeat(81), ['x'.repeat(80)], null],
    ['x', [], null],
  ])('%s is perhaps one of %j', (name, names, expected) => {
    const near = findNearest(name, names);
    expect(near && [near.name, near.close]).toEqual(expected);
  });

  it('is reported fifty times at most, at its place in lists and maps too', () => {
    const schema = z.object({
      list: z.array(z.object({ a: z.string() })),
      map: z.record(z.string(), z.object({ a: z.string() })),
    });
    const found = findUnknownFields(schema, { list: [{ a: 'x' }, { a: 'x', b: 1 }], map: { k: { c: 1 } }, d: 1 });
    expect(found.map(({ path }) => path)).toEqual(['list.1.b', 'map.k.c', 'd']);
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`zz${at}`, 1]));
    expect(findUnknownFields(z.object({}), many)).toHaveLength(50);
    expect(findUnknownFields(z.looseObject({}), many)).toEqual([]);
    expect(findUnknownFields(z.record(z.string(), z.unknown()), many)).toEqual([]);
  });

  it('is refused if a protection was meant, which no name is that is longer than any field', () => {
    const refused = (name: string) => findUnknownFields(z.object({}), { [name]: 1 })[0]!.is_refused;
    expect([refused('approval-tool'), refused(`approval_tools${'_'.repeat(80)}`), refused('colour')]).toEqual([
      ...[true, false, false],
    ]);
    const warn = (config: object) => listUnreadWarnings(z.object({}), config, 'config').map(({ path }) => path);
    expect(warn({ colour: 1 })).toEqual(['config.colour']);
    expect(() => warn({ colour: 1, approval_tools: [] })).toThrow('`approval_tools` is a field of an agent, so set it there');
  });
});

describe('null', () => {
  const Form = z.object({
    text: z.string().default('x'),
    maybe: z.string().nullable(),
    inner: z.object({ text: z.string().default('x') }),
  });
  it('is an omitted field in a new record, and a value in a change; within a value it is always omitted', () => {
    const sent = { text: null, maybe: null, inner: { text: null }, unknown: null };
    expect(read(sent, {}, Form)).toEqual({ maybe: null, inner: {}, unknown: null });
    expect(read(sent, { keeps_nulls: true }, Form)).toEqual({ text: null, maybe: null, inner: {}, unknown: null });
  });
});

describe('a reply', () => {
  const Reply = z.object({ ...Thing.shape, ...otherNames(Thing.shape) });
  it('has every name of a field, and null under the name for another kind', () => {
    const record = { url: 'a', note: null, kind: 'boat', settings: { fast: true } };
    expect(addOtherNames(Reply, record)).toEqual({
      ...record,
      ...{ address: 'a', link: 'a', remark: null, car_settings: null, boat_settings: { fast: true } },
    });
    expect(addOtherNames(Thing, record)).toEqual(record);
  });
});

describe('a body', () => {
  const Body = z.object({ name: z.string(), url: Address.optional(), metadata: z.record(z.string(), z.unknown()).default({}) });
  const parse = (input: unknown, more: object = {}) => {
    try {
      const { value, warnings } = parseWithWarnings(Body, input, { what: 'body', ...more });
      return { value, warnings: warnings.map(({ path }) => path) };
    } catch (error) {
      return (error as { errors: FieldError[] }).errors.map(({ path }) => path);
    }
  };
  const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) });

  it('lists every field that is wrong, at its path', () => {
    expect(parse({ name: 3, link: 'a', address: 'b' })).toEqual(['address', 'name']);
    expect(parse(null)).toEqual(['body']);
    expect(parse({ name: 'x' }, { base_path: 'config' })).toEqual({ value: { name: 'x', metadata: {} }, warnings: [] });
    expect(parse({ name: 3 }, { base_path: 'config' })).toEqual(['config.name']);
  });

  it('warns of what nothing reads, except of what the service sets', () => {
    const record_schema = z.object({ id: z.string() });
    expect(parse({ name: 'x', id: 'i', warnings: [], colour: 1 }, { record_schema })).toMatchObject({ warnings: ['colour'] });
    expect(parse({ name: 'x', id: 'i' })).toMatchObject({ warnings: ['id'] });
  });

  it('is refused with text that cannot be stored, or too deep nesting, before anything else', () => {
    expect(parse({ name: 3, metadata: { a: ['\u0000'] } })).toEqual(['metadata.a.0']);
    expect(parse({ name: '\ud800' })).toEqual(['name']);
    expect(parse({ name: 'x', metadata: { '\u0000': 1 } })).toEqual(['metadata.key']);
    expect(parse({ name: 'x', metadata: nested(63) })).toMatchObject({ warnings: [] });
    expect(parse({ name: 'x', metadata: nested(64) })).toEqual(['metadata.a.a.a']);
  });
});
