import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { nameNew } from '../../src/dashboard/resources/creating.ts';
import {
  adaptField,
  type Control,
  type Field,
  fieldChoices,
  listChangeableFields,
  presetFields,
  toFields,
} from '../../src/dashboard/resources/fields.ts';
import {
  carryEdits,
  findChanges,
  formatFieldFault,
  nameHomeless,
  toControls,
  toWire,
} from '../../src/dashboard/resources/values.ts';

const field = (control: Control, more: Partial<Field> = {}): Field => ({
  ...{ name: 'it', label: 'It', control, required: false, nullable: false, fallback: undefined },
  ...more,
});
/** Returns what is sent for a control's content. */
const send = (one: Field, content: unknown) => toWire([one], { it: content });

describe('what a form sends for an empty control', () => {
  it.each<[string, Field, unknown, object]>([
    ['null, which clears it', field('text', { nullable: true }), '', { values: { it: null }, faults: [] }],
    ['null for a list without an entry', field('tags', { nullable: true }), [], { values: { it: null }, faults: [] }],
    ['the list without an entry', field('tags'), [], { values: { it: [] }, faults: [] }],
    ['the empty text', field('long', { fallback: '' }), '', { values: { it: '' }, faults: [] }],
    ['nothing if the contract has another default', field('text', { fallback: 'x' }), '', { values: {}, faults: [] }],
    ['nothing for a number', field('number', { fallback: 7 }), '', { values: {}, faults: [] }],
    ['nothing for a secret, which keeps it', field('secret'), '', { values: {}, faults: [] }],
    ['a fault', field('number', { required: true }), '', { values: {}, faults: [{ path: 'it', message: 'It is required' }] }],
  ])('is %s', (_, one, content, sent) => expect(send(one, content)).toEqual(sent));

  it('is not that for zero, and not for a switch that is off', () => {
    expect(send(field('number', { required: true, nullable: true }), 0).values).toEqual({ it: 0 });
    expect(send(field('switch', { required: true, nullable: true }), false).values).toEqual({ it: false });
  });
});

describe('a field of shares', () => {
  const shares = field('shares');
  const shown = (it: number[] | null) => toControls([shares], { it }).it;

  it('is shown and typed as percentages', () => {
    expect(shown([0.57, 0.805, 1])).toEqual(['57 %', '80.5 %', '100 %']);
    expect(shown(null)).toEqual([]);
    expect(send(shares, ['57 %', '80.5', ' 7% '])).toEqual({ values: { it: [0.57, 0.805, 0.07] }, faults: [] });
    expect(send(shares, [])).toEqual({ values: { it: [] }, faults: [] });
  });

  it.each(['much', '%', '8,5'])('refuses %s', (text) => {
    expect(send(shares, ['57', text]).faults).toEqual([{ path: 'it', message: `${text} is not a percentage such as 80 %` }]);
  });
});

describe('a field that depends on another', () => {
  const by = { field: 'kind', choices: { cat: { label: 'Cat', required: true, nullable: false }, dog: { label: 'Dog' } } };
  const one = field('text', { nullable: true, by });
  const sent = (kind: string, it: string) => toWire([field('text', { name: 'kind' }), one], { kind, it });

  it('is sent as it looks for that value, and as null where it is not shown', () => {
    expect(sent('cat', '')).toMatchObject({ faults: [{ path: 'it', message: 'Cat is required' }] });
    expect(sent('cat', 'Tom').values).toEqual({ kind: 'cat', it: 'Tom' });
    expect(sent('dog', '').values).toEqual({ kind: 'dog', it: null });
    expect(sent('fish', 'Tom').values).toEqual({ kind: 'fish', it: null });
    expect(adaptField(one, { kind: 'fish' })).toBeNull();
    expect(adaptField(one, { kind: 'dog' })).toMatchObject({ label: 'Dog', nullable: true });
  });
});

describe('a form for a list of entries', () => {
  const fields = toFields(z.object({ list: z.array(z.unknown()).default([]) }), {
    list: { control: 'variants', entry: z.object({ name: z.string(), size: z.int().nullable().default(null) }) },
  });

  it('shows each entry with its fields, and sends them without anything else', () => {
    const record = {
      list: [
        { name: 'a', size: 7 },
        { name: 'b', size: null },
      ],
    };
    const controls = toControls(fields, record);
    expect(controls).toEqual({
      list: [
        { name: 'a', size: 7 },
        { name: 'b', size: '' },
      ],
    });
    expect(toWire(fields, controls)).toEqual({ values: record, faults: [] });
    expect(toControls(fields, null)).toEqual({ list: [] });
  });

  it('says at which entry a value is missing', () => {
    const { faults } = toWire(fields, {
      list: [
        { name: 'a', size: '' },
        { name: '', size: '' },
      ],
    });
    expect(faults).toEqual([{ path: 'list.1.name', message: 'Name is required' }]);
  });
});

describe('a form for fields within a field', () => {
  const inner = z.object({ most: z.int() });
  const nested = (nullable: boolean, is_known = true) => field('nested', { nullable, nested: () => (is_known ? inner : null) });

  it('sends them, null if they were emptied, and nothing if nobody has filled them in', () => {
    expect(send(nested(true), { most: 7 })).toEqual({ values: { it: { most: 7 } }, faults: [] });
    expect(send(nested(false), { most: '' }).faults).toEqual([{ path: 'it.most', message: 'Most is required' }]);
    expect([send(nested(true), null).values, send(nested(false), null).values]).toEqual([{ it: null }, {}]);
    expect([send(nested(true, false), { most: 7 }).values, send(nested(false, false), { most: 7 }).values]).toEqual([
      { it: null },
      {},
    ]);
  });

  it('shows what is stored, as far as its fields are known', () => {
    expect(toControls([nested(true)], { it: { most: 7 } })).toEqual({ it: { most: 7 } });
    expect([toControls([nested(true)], { it: null }), toControls([nested(true, false)], { it: { most: 7 } })]).toEqual([
      ...[{ it: null }, { it: null }],
    ]);
  });
});

describe('a form for a new record', () => {
  it('begins with what another screen gives it', () => {
    const preset = presetFields([field('text', { name: 'a', fallback: '3' }), field('text', { name: 'b', fallback: '5' })], {
      a: '',
      b: '7',
    });
    expect(toControls(preset, null)).toEqual({ a: '3', b: '7' });
    const options = [{ value: 'i', label: 'Clerk' }];
    expect([nameNew('Clerk', options), nameNew(' Guard ', options)]).toEqual(['', 'Guard']);
  });

  it('begins with the defaults of the contract', () => {
    const shape = {
      name: z.string(),
      size: z.int().default(7),
      on: z.boolean().default(true),
      tags: z.array(z.string()).default(['a']),
    };
    const controls = toControls(toFields(z.object(shape)), null);
    expect(controls).toEqual({ name: '', size: 7, on: true, tags: ['a'] });
  });
});

describe('a form for a record', () => {
  const fields = [field('text', { name: 'name' }), field('json', { name: 'map' }), field('secret', { name: 'value' })];
  const more = [field('switch', { name: 'on', fallback: true }), field('number', { name: 'size', fallback: 7 })];

  it('shows what is stored, also if it is zero or off, and never a secret', () => {
    const record = { name: 'a', map: { x: 1 }, value: 'hunter2', on: false, size: 0 };
    expect(toControls([...fields, ...more], record)).toEqual({
      ...{ name: 'a', map: '{\n  "x": 1\n}', value: '', on: false, size: 0 },
    });
  });

  it('keeps of a newer state what the person has not edited', () => {
    const [before, newer] = [
      { name: 'a', size: 7, tags: ['x'] },
      { name: 'b', size: 11, tags: ['y'] },
    ];
    expect(carryEdits({ name: 'mine', size: 7, tags: ['x'] }, before, newer)).toEqual({ name: 'mine', size: 11, tags: ['y'] });
  });

  it('sends what differs from what it showed', () => {
    expect(findChanges({ a: [1, 2], b: { x: 1 }, c: null }, { a: [2, 1], b: { x: 1 }, c: '' })).toEqual({ a: [2, 1], c: '' });
  });

  it('has no field that can only be given at the creation, and asks for no secret again', () => {
    const create = z.object({ name: z.string(), kind: z.string(), value: z.string() });
    const update = z.object({ name: z.string().optional(), value: z.string().optional(), status: z.string().optional() });
    const shown = listChangeableFields(create, update, { value: { control: 'secret' } });
    expect(shown.map(({ name, required }) => [name, required])).toEqual([
      ['name', true],
      ['value', false],
      ['status', false],
    ]);
    expect(shown[1]?.description).toContain('keep the stored value');
  });
});

describe('the errors of a field', () => {
  const faults = [
    { path: 'config', message: 'Not so' },
    { path: 'config.url', message: 'No URL' },
    { path: 'configs', message: 'Another field' },
    { path: 'other.config', message: 'Another place' },
  ];

  it('that the form does not have are named with the problem', () => {
    const message = 'It was refused.';
    expect(nameHomeless({ message, errors: faults }, [field('text', { name: 'config' }), field('text', { name: 'other' })])).toBe(
      'It was refused. configs: Another field',
    );
    expect(nameHomeless({ message, errors: faults }, [])).toMatch(/^It was refused\. config: Not so\. config\.url: No URL\. /);
    expect(nameHomeless({ message, errors: [] }, [])).toBe(message);
  });

  it('are its own and those of its parts, which are named', () => {
    expect(formatFieldFault(faults, 'config')).toBe('Not so. url: No URL');
    expect(formatFieldFault(faults, 'config.url')).toBe('No URL');
    expect(formatFieldFault(faults, 'conf')).toBeUndefined();
  });
});

describe('the choices of a field', () => {
  const choices = (more: Partial<Field>) => fieldChoices(field('choice', { options: ['one_by_one', 'b'], ...more }));
  const both = [
    { value: 'one_by_one', label: 'one by one' },
    { value: 'b', label: 'b' },
  ];

  it('are the options in words, and an empty one unless the contract has a default', () => {
    expect(choices({ fallback: 'b' })).toEqual(both);
    expect(choices({})).toEqual([{ value: '', label: '—' }, ...both]);
    expect(choices({ required: true })).toEqual([{ value: '', label: 'Choose …' }, ...both]);
    expect(choices({ nullable: true, fallback: null, none: 'model default' })).toEqual([
      { value: '', label: 'model default' },
      ...both,
    ]);
    expect(choices({ fallback: 'b', option_labels: { b: 'Bees' } })[1]).toEqual({ value: 'b', label: 'Bees' });
  });
});

describe('a field of the contract', () => {
  const about = z.string().meta({ description: 'Null: the `default`.' });
  const schema = z.object({
    ...{ mcp_server_ids: z.array(z.string()), provider_id: z.string().nullable(), max_cost_usd: z.number().min(3).max(7) },
    ...{ at: z.iso.datetime(), color: z.enum(['red', 'blue']), extra: z.record(z.string(), z.unknown()), text: about.nullable() },
  });

  it('has a label in words, a control for its type, and its limits', () => {
    const shown = toFields(schema).map(({ name, label, control, nullable, min, max }) => ({
      [name]: [label, control, nullable, min, max],
    }));
    expect(Object.assign({}, ...shown)).toEqual({
      mcp_server_ids: ['MCP servers', 'tags', false, undefined, undefined],
      provider_id: ['Provider', 'text', true, undefined, undefined],
      max_cost_usd: ['Max cost US dollars', 'number', false, 3, 7],
      at: ['At', 'time', false, undefined, undefined],
      color: ['Color', 'choice', false, undefined, undefined],
      extra: ['Extra', 'json', false, undefined, undefined],
      text: ['Text', 'text', true, undefined, undefined],
    });
  });

  it('is described for people, and can be left out or changed', () => {
    const [described] = toFields(schema, { at: { hidden: true } }).filter(({ name }) => name === 'text');
    expect(described?.description).toBe('If empty: the default.');
    expect(toFields(schema, { at: { hidden: true } }).map(({ name }) => name)).not.toContain('at');
    expect(toFields(schema, { at: { label: 'When' } }).find(({ name }) => name === 'at')).toMatchObject({
      label: 'When',
      required: true,
    });
  });
});
