import { CallSettingFields } from '../../contracts/call-settings.ts';
import { REASONING_EFFORTS } from '../../contracts/workflows.ts';
import type { Overrides } from './fields.ts';

const CHOICE = { none: 'model default' };

/** The settings of model calls in forms; if nothing is said here, the label is the name. */
export const MODEL_SETTINGS: Overrides = {
  ...Object.fromEntries(['reasoning_effort', ...Object.keys(CallSettingFields)].map((name) => [name, CHOICE])),
  reasoning_effort: { ...CHOICE, control: 'choice', options: [...REASONING_EFFORTS] },
  stop: { label: 'Stop texts' },
  parallel_tool_calls: { ...CHOICE, label: 'Several tool calls at once' },
};
