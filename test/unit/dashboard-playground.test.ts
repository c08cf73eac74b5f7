import { describe, expect, it } from 'vitest';
import { callSettings } from '../../src/contracts/call-settings.ts';
import { ForkChanges } from '../../src/contracts/fork-changes.ts';
import type { StepRequest } from '../../src/contracts/run-inspection.ts';
import { buildFork, createDraft, draftValues, listFields, withControl } from '../../src/dashboard/playground/draft.ts';
import { pickValues, saveLines } from '../../src/dashboard/playground/save-lines.ts';

const changeable = {
  ...{ system_prompt: 'Be kind.', provider_id: 'near', model: 'small', output_format: 'markdown', reasoning_effort: null },
  ...callSettings({}),
  ...{ custom_tool_ids: ['a', 'b'], builtin_tools: [], mcp_server_ids: ['one'] },
};
const message = (step: number, position: number, content: string) => ({
  ...{ step, position, role: 'user', kind: 'prompt', content, tool_calls: null, call_id: null, extra: null },
});
const REQUEST: StepRequest = {
  ...{ step: 2, model: 'small', instructions: 'Be kind.', system_prompt: 'Be kind.', skills: [], tools: [], parameters: {} },
  ...{ messages: [message(0, 0, 'Count.'), message(1, 1, 'three')], changeable, not_rebuilt: [] },
};
const DRAFT = createDraft(REQUEST);

describe('a draft of the playground', () => {
  it('sends nothing that was not changed', () => {
    expect(buildFork(REQUEST, DRAFT)).toEqual({ from_step: 2, effects: 'recorded' });
    expect(buildFork(REQUEST, { ...DRAFT, edits: { '0/0': 'Count.' }, prompt: ' ' })).toEqual({
      from_step: 2,
      effects: 'recorded',
    });
    expect(draftValues(REQUEST, DRAFT)).toEqual(changeable);
  });

  it('sends what was changed, also if it is empty now', () => {
    const emptied = withControl(withControl(DRAFT, 'system_prompt', ''), 'custom_tool_ids', []);
    const body = buildFork(REQUEST, { ...emptied, edits: { '1/1': 'four' }, prompt: 'Next.', effects: 'stub' });
    expect(body).toEqual({
      ...{ from_step: 2, effects: 'stub', prompt: 'Next.' },
      changes: { system_prompt: '', custom_tool_ids: [], messages: [{ step: 1, position: 1, content: 'four' }] },
    });
    expect(ForkChanges.parse({ system_prompt: '', custom_tool_ids: [] })).toBeDefined();
  });

  it('takes the default model of another provider', () => {
    expect(buildFork(REQUEST, withControl(DRAFT, 'provider_id', 'far')).changes).toEqual({ provider_id: 'far', model: null });
  });

  it('has a control for each field that a fork can change, but MCP servers only if the run has some', () => {
    const names = Object.keys(ForkChanges.shape).filter((name) => name !== 'messages');
    expect(listFields(REQUEST).map(({ name }) => name)).toEqual(names);
    const without = { ...REQUEST, changeable: { ...changeable, mcp_server_ids: [] } };
    expect(listFields(without).map(({ name }) => name)).toEqual(names.filter((name) => name !== 'mcp_server_ids'));
  });
});

describe('what a draft saves', () => {
  const agent = { ...changeable, custom_tool_ids: ['a', 'b', 'disabled'], system_prompt: 'Be very kind.', model: null };
  const workflow = { model: null, output_format: 'markdown', reasoning_effort: 'high' };
  const lines = (draft: object, stored: object = {}) =>
    saveLines({ agent, workflow: { ...workflow, ...stored } }, { origin: changeable, draft: { ...changeable, ...draft } });

  it('is only what the draft changes, so that what others changed since stays', () => {
    expect(lines({})).toEqual([]);
    expect(lines({ system_prompt: 'Be very kind.' })).toEqual([]);
    expect(lines({ system_prompt: 'Be brief.', reasoning_effort: 'low' })).toEqual([
      { name: 'system_prompt', place: 'agent', before: 'Be very kind.', after: 'Be brief.' },
      { name: 'reasoning_effort', place: 'workflow', before: 'high', after: 'low' },
    ]);
  });

  it('keeps what a list holds besides, such as a disabled tool', () => {
    const saved = lines({ custom_tool_ids: ['b', 'c'] });
    expect(pickValues(saved, 'agent')).toEqual({ custom_tool_ids: ['b', 'disabled', 'c'] });
    expect(pickValues(saved, 'workflow')).toEqual({});
  });

  it('changes the model where it counts', () => {
    expect(lines({ model: 'large' })).toMatchObject([{ place: 'agent', before: null, after: 'large' }]);
    expect(lines({ model: 'large' }, { model: 'tiny' })).toMatchObject([{ place: 'workflow', before: 'tiny', after: 'large' }]);
  });
});
