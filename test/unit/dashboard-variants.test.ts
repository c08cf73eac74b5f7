import { describe, expect, it } from 'vitest';
import { EvaluationCreate, Grader } from '../../src/contracts/evaluations.ts';
import { GRADERS } from '../../src/dashboard/datasets/graders.ts';
import { listVariantFields, toFields, variantAbout } from '../../src/dashboard/resources/fields.ts';
import { toControls, toWire, variantControls } from '../../src/dashboard/resources/values.ts';

const [graders] = toFields(EvaluationCreate, { graders: GRADERS }).filter(({ name }) => name === 'graders');
const field = graders!;
const wired = (entries: object[]) => toWire([field], toControls([field], { graders: entries }));

describe('a list of entries of several types', () => {
  it('offers every type of the contract, each with its description and its fields', () => {
    for (const { shape } of Grader.options) {
      const type = shape.type.value;
      expect(['type', ...listVariantFields(field, type).map(({ name }) => name)].sort()).toEqual(Object.keys(shape).sort());
      expect(variantAbout(field, type), type).toMatch(/answer/);
    }
  });

  it('begins an entry with the defaults of its type', () => {
    expect(variantControls(field, { type: 'exact' })).toEqual({ type: 'exact', ignore_case: false });
    expect(variantControls(field, { type: 'regex' })).toEqual({ type: 'regex', pattern: '' });
  });

  it('sends what it was given', () => {
    const given = [
      { type: 'json_schema', json_schema: { type: 'object' } },
      { type: 'exact', ignore_case: true },
      { type: 'regex', pattern: '^a' },
    ];
    expect(wired(given)).toEqual({ values: { graders: given }, faults: [] });
  });

  it('reports what is missing or wrong at the field of the entry', () => {
    const controls = { graders: [{ type: 'exact' }, { type: 'regex', pattern: '' }, { type: 'json_schema', json_schema: '{' }] };
    expect(toWire([field], controls).faults).toMatchObject([
      { path: 'graders.1.pattern', message: 'Pattern is required' },
      { path: 'graders.2.json_schema', message: expect.stringContaining('Not valid JSON') },
    ]);
  });
});
