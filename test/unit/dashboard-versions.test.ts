import { expect, it } from 'vitest';
import { ApiProblem } from '../../src/dashboard/api/call.ts';
import type { Field, Values } from '../../src/dashboard/resources/fields.ts';
import { saveOver, type Version } from '../../src/dashboard/resources/versions.ts';

const field = (name: string, more: Partial<Field> = {}): Field => ({
  ...{ name, label: name, control: 'text', required: false, nullable: false, fallback: '' },
  ...more,
});
const fields = [field('a'), field('b'), field('key', { control: 'secret', fallback: undefined })];
const version = (value: Values, tag: string): Version => ({ value: { a: '1', b: '1', fingerprint: 'f1', ...value }, tag });

/** A service that holds a record, which others change before each save that they have a change left for. */
function held(...theirs: Version[]) {
  let now = version({}, 't0');
  const asked: [Values, string | null][] = [];
  return {
    asked,
    ports: {
      async save(changes: Values, tag: string | null) {
        asked.push([changes, tag]);
        now = theirs.shift() ?? now;
        if (tag !== now.tag)
          throw new ApiProblem({ status: 412, code: 'changed_meanwhile', detail: 'It was changed', errors: [] });
        now = { value: { ...now.value, ...changes }, tag: 'saved' };
        return now;
      },
      read: async () => now,
    },
  };
}

const base = version({}, 't0');
const save = (values: Values, ports: ReturnType<typeof held>['ports']) => saveOver({ fields, base, values, ports });
const names = (list: Field[]) => list.map(({ name }) => name);

it('sends what was changed, for the state that it was read in', async () => {
  const { ports, asked } = held();
  expect(await save({ a: '2', b: '1' }, ports)).toMatchObject({ saved: { value: { a: '2', b: '1' }, tag: 'saved' }, kept: [] });
  expect(asked).toEqual([[{ a: '2' }, 't0']]);
});

it('saves over what the form does not show, however often it changes, and gives up at last', async () => {
  const { ports, asked } = held(version({ runs: 1 }, 't1'), version({ runs: 2 }, 't2'));
  expect(await save({ a: '2', b: '1' }, ports)).toMatchObject({ saved: { value: { a: '2', runs: 2 } }, kept: [] });
  expect(asked.map(([, tag]) => tag)).toEqual(['t0', 't1', 't2']);
  const restless = held(...Array.from({ length: 9 }, (_, index) => version({ runs: index }, `r${index}`)));
  await expect(save({ a: '2', b: '1' }, restless.ports)).rejects.toThrow('It was changed');
});

it('keeps a concurrent change of another field, and reports it', async () => {
  const { ports } = held(version({ b: '3' }, 't1'));
  const outcome = await save({ a: '2', b: '1' }, ports);
  expect(outcome).toMatchObject({ saved: { value: { a: '2', b: '3' } } });
  expect('kept' in outcome && names(outcome.kept)).toEqual(['b']);
});

it('saves nothing when the same field was changed meanwhile', async () => {
  const { ports, asked } = held(version({ a: '3', b: '3' }, 't1'));
  const outcome = await save({ a: '2', b: '1' }, ports);
  expect('conflict' in outcome && [names(outcome.conflict.fields), outcome.conflict.newer.tag]).toEqual([['a'], 't1']);
  expect(asked).toHaveLength(1);
});

it('knows by its fingerprint that a secret was replaced', async () => {
  const another = await save({ a: '1', b: '1', key: 'mine' }, held(version({ fingerprint: 'f2' }, 't1')).ports);
  expect('conflict' in another && names(another.conflict.fields)).toEqual(['key']);
  const same = await save({ a: '1', b: '1', key: 'mine' }, held(version({ b: '3' }, 't1')).ports);
  expect('saved' in same).toBe(true);
});
