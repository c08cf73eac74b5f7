import { describe, expect, it } from 'vitest';
import { refuseChoices, type ToolChoices } from '../../../src/domain/tool-choice.ts';

describe('choices that a client makes instead of the model', () => {
  const refuse = (base_url: string | null, choices: ToolChoices) => () =>
    refuseChoices({ name: 'Vendor', provider_type: 'anthropic', base_url }, choices);

  it.each<[string, ToolChoices]>([
    ['tool_choice', { forced_tools: ['bash'] }],
    ['parallel_tool_calls', { parallel_tool_calls: false }],
  ])('are refused in a session at the vendor: %s', (path, choices) => {
    const message = expect.stringContaining(`take no ${path}`);
    expect(refuse(null, choices)).toThrow(expect.objectContaining({ kind: 'invalid', message, errors: [{ path, message }] }));
    expect(refuse('http://gateway', choices)).not.toThrow();
    expect(() => refuseChoices(null, choices)).not.toThrow();
  });

  it('are allowed there if there are none', () => {
    expect(refuse(null, {})).not.toThrow();
  });
});
