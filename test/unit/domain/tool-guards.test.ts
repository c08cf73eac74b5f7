import { describe, expect, it } from 'vitest';
import { refuseChoices, type ToolChoices } from '../../../src/domain/tool-choice.ts';
import { runGuards } from '../../../src/domain/tool-guards.ts';

/** The names that the tools have now. */
const NAMES = {
  custom: new Map([['1', 'pay out']]),
  mcp: new Map([['2', 'my bank']]),
};

describe('the guards of a run', () => {
  it.each<[name: string, tool: string | null, guarded: string[]]>([
    ['pay out', 'custom:1', ['pay out']],
    ['pay_out', 'custom:1', ['pay_out']],
    ['custom_pay_out_2', 'custom:1', ['custom_pay_out_2']],
    ['pay', 'custom:1', ['pay', 'pay out']],
    ['send', 'mcp:2:send', ['send']],
    ['bank_send', 'mcp:2:send', ['bank_send', 'my_bank_send']],
    ['send', 'mcp:2:send:all', ['send', 'my_bank_send_all']],
    ['bash', 'builtin:bash', ['bash']],
    ['sent', 'mcp:deleted:sent', ['sent']],
    ['paid', 'custom:deleted', ['paid']],
    ['later', null, ['later']],
  ])('%s of %s are %j', (name, tool, approval_tools) => {
    const agent = { approval_tools: [name], approval_guards: [{ name, tool }], approve_effects: [] };
    expect(runGuards(agent, NAMES)).toEqual({ approval_tools, ...(tool === null ? {} : { guarded_tools: [tool] }) });
  });

  it('include names that are pinned to no tool, and effects', () => {
    const agent = { approval_tools: ['later'], approval_guards: [], approve_effects: ['write'] };
    expect(runGuards(agent, NAMES)).toEqual({ approval_tools: ['later'], approve_effects: ['write'] });
  });
});

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
