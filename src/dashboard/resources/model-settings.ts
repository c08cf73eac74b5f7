import { CallSettingFields } from '../../contracts/call-settings.ts';
import { Fallback } from '../../contracts/fallbacks.ts';
import { REASONING_EFFORTS } from '../../contracts/workflows.ts';
import type { Overrides } from './fields.ts';

/** The fields of agents and providers about other models. */
export const FALLBACK_SETTINGS: Overrides = {
  fallbacks: {
    control: 'variants',
    entry: Fallback,
    variant_overrides: {
      on: { label: 'After these failures' },
      provider_id: { control: 'reference', of: 'provider', none: 'the same provider', description: undefined },
      model: { placeholder: 'default' },
    },
  },
  fallback_minutes: { label: 'Minutes with a fallback', description: 'If empty: the run stays with it to its end.' },
};

const CHOICE = { none: 'model default' };

/** The settings of model calls in forms; if nothing is said here, the label is the name. */
export const MODEL_SETTINGS: Overrides = {
  ...Object.fromEntries(['reasoning_effort', ...Object.keys(CallSettingFields)].map((name) => [name, CHOICE])),
  reasoning_effort: {
    ...CHOICE,
    control: 'choice',
    options: [...REASONING_EFFORTS],
    description: 'How much the model thinks before it answers. More takes longer and costs more.',
  },
  stop: { label: 'Stop texts' },
  parallel_tool_calls: { ...CHOICE, label: 'Several tool calls at once' },
  service_tier: { ...CHOICE, label: 'Service tier' },
  verbosity: { ...CHOICE, label: 'Length of answers' },
};
