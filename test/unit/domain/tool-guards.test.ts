import { describe, expect, it } from 'vitest';
import { type AgentTool, asksFirst, fitsTool, namesOfTool, pinGuards, runGuards } from '../../../src/domain/tool-guards.ts';
import { freeToolName, modelName } from '../../../src/domain/tool-names.ts';

/** A tool of each kind of source; the last ones have names that a model cannot write. */
const TOOLS: AgentTool[] = [
  { tool: 'builtin:glob', own: 'glob', prefix: 'builtin' },
  { tool: 'custom:1', own: 'send', prefix: 'custom' },
  { tool: 'mcp:2:post', own: 'post', prefix: 'mail' },
  { tool: 'mcp:3:pöst me', own: 'pöst me', prefix: 'mail' },
  { tool: 'definition:order', own: 'order', prefix: 'defined' },
];
const NAMES = { custom: new Map([['1', 'send']]), mcp: new Map(['2', '3'].map((id) => [id, 'mail'])) };

/** The names under which a run offers a tool, as more and more of them are taken. */
function listOffers({ own, prefix }: AgentTool): string[] {
  const used_names = new Set<string>();
  for (let count = 0; count < 4; count += 1) used_names.add(freeToolName(modelName(own), prefix, used_names));
  return [...used_names];
}

const offer = (tool: AgentTool, name: string) => ({
  name,
  effect: 'read' as const,
  origin: { tool: tool.tool, names: namesOfTool(tool) },
});

describe.each(TOOLS)('the tool $tool', (tool) => {
  const offers = listOffers(tool);

  it('is offered under its own name, its prefixed one, and numbered ones, and each of them fits it', () => {
    expect(new Set(offers).size).toBe(4);
    expect(offers.filter((name) => !fitsTool(name, tool))).toEqual([]);
  });

  it('asks first under each name, whichever of its names is listed without a pin', () => {
    const asking = namesOfTool(tool).flatMap((listed) =>
      offers.map((name) => [listed, name, asksFirst({ approval_tools: [listed] }, offer(tool, name))]),
    );
    expect(asking.filter(([, , asks]) => !asks)).toEqual([]);
  });

  it('asks first if it is pinned, whatever is listed and however it is called', () => {
    for (const name of ['x', ...offers])
      expect(asksFirst({ approval_tools: [], guarded_tools: [tool.tool] }, offer(tool, name))).toBe(true);
  });

  it('asks first if another tool is offered under the listed name', () => {
    const taker: AgentTool = { tool: 'custom:9', own: modelName(tool.own), prefix: 'custom' };
    const agent = {
      approval_tools: [tool.own],
      approval_guards: pinGuards([tool.own], { before: [], tools: [taker], tools_by_identity: new Map() }).guards,
      approve_effects: [],
    };
    expect(asksFirst(runGuards(agent, NAMES), offer(tool, offers[1]!))).toBe(true);
  });

  it('does not ask first for the names of others', () => {
    const others = TOOLS.filter((one) => one !== tool).flatMap(namesOfTool);
    for (const name of offers)
      expect(asksFirst({ approval_tools: ['x', ...others], guarded_tools: ['custom:x'] }, offer(tool, name))).toBe(false);
  });

  it('asks first by its effect, and a tool of unknown effect as a write', () => {
    const shown = offer(tool, offers[0]!);
    const ask = (effect: 'read' | 'write' | undefined, approved: 'read' | 'write') =>
      asksFirst({ approval_tools: [], approve_effects: [approved] }, { ...shown, effect });
    expect([
      ask('read', 'read'),
      ask('write', 'read'),
      ask('read', 'write'),
      ask('write', 'write'),
      ask(undefined, 'write'),
    ]).toEqual([...[true, false, false, true, true]]);
    expect(asksFirst({ approval_tools: [] }, shown)).toBe(false);
  });
});

it('a tool of the client always waits', () => {
  const origin = { tool: 'client:pick', names: ['pick'] };
  expect(asksFirst({ approval_tools: [] }, { name: 'pick', effect: 'read', origin })).toBe(true);
});

/** The names that the tools have now. */
const PRESENT_NAMES = {
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
    expect(runGuards(agent, PRESENT_NAMES)).toEqual({ approval_tools, ...(tool === null ? {} : { guarded_tools: [tool] }) });
  });

  it('include names that are pinned to no tool, and effects', () => {
    const agent = { approval_tools: ['later'], approval_guards: [], approve_effects: ['write'] };
    expect(runGuards(agent, PRESENT_NAMES)).toEqual({ approval_tools: ['later'], approve_effects: ['write'] });
  });
});
