import { Grader } from '../../contracts/evaluations.ts';
import type { Overrides } from '../resources/fields.ts';

/** The form of an evaluation's graders: one entry for each, with the fields of its type. */
export const GRADERS = {
  control: 'variants',
  variants: Object.fromEntries(Grader.options.map((option) => [option.shape.type.value, option])),
  variant_overrides: {
    provider_id: { control: 'reference', of: 'provider', none: 'Default runtime', description: undefined },
    model: { control: 'model' },
    instructions: { control: 'long' },
    tool_id: { control: 'reference', of: 'custom_tool' },
  },
  fallback: [{ type: 'exact' }],
} as const satisfies Overrides[string];
