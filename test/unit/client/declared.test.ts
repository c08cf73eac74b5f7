import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/index.ts';
import { applySteps } from '../../../src/main/declared/apply-steps.ts';
import type { Installed, World } from '../../../src/main/declared/installed.ts';
import { DECLARED_KINDS, type NamedType } from '../../../src/main/declared/kinds.ts';
import { buildPlan } from '../../../src/main/declared/plan.ts';
import { readDeclared } from '../../../src/main/declared/read.ts';
import { planJson, planText } from '../../../src/main/declared/show.ts';

let folder: string;
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-declared-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A folder with these files. */
async function folderOf(contents: Record<string, string>): Promise<string> {
  const path = join(folder, String(++files));
  for (const [name, text] of Object.entries(contents)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return path;
}
const declared = async (text: string) => readDeclared([join(await folderOf({ 'a.yaml': text }), 'a.yaml')]);

function worldOf(...records: [type: string, id: string, fields: Record<string, unknown>][]): World {
  const installed = records.map(([type, id, fields]): Installed => {
    const kind = DECLARED_KINDS.find((one) => one.type === type) as Installed['kind'];
    return { kind, id, title: fields[kind.title] as string, fields };
  });
  const others = new Map<NamedType, Map<string, string[]>>();
  for (const { kind, title, id } of installed) {
    const names = others.get(kind.type) ?? new Map<string, string[]>();
    others.set(kind.type, names.set(title as string, [...(names.get(title as string) ?? []), id]));
  }
  return { installed, others };
}

const AGENT = 'kind: agent\nname: adder\nsystem_prompt: Add.\n';
const WORKFLOW = 'kind: workflow\ntitle: Sums\nagent: adder\nbudget: {max_tokens: 10}\n';

describe('files', () => {
  it('hold resources in every form, and are read in the order of creation', async () => {
    const path = await folderOf({
      'z/workflow.yml': `${WORKFLOW}---\n${AGENT}`,
      'bundle.json': JSON.stringify({ version: '1.0', skills: [{ name: 'tone', instructions: 'Be kind.' }], agents: [] }),
      'list.yaml': '- {kind: skill, name: brief, instructions: Be brief.}\n',
      'one.json': JSON.stringify({ resource_type: 'guardrail', items: [{ name: 'none', guardrail_type: 'prompt' }] }),
      'notes.txt': 'not read',
    });
    expect((await readDeclared([path])).map(({ kind, title }) => `${kind.type} ${title}`)).toEqual([
      'skill tone',
      'skill brief',
      'guardrail none',
      'agent adder',
      'workflow Sums',
    ]);
  });

  it.each([
    ['kind: robot\n', 'kind must be one of skill, guardrail, knowledge_source, agent, workflow'],
    ['kind: agent\n', 'an agent needs a name'],
    ['kind: workflow\n', 'a workflow needs a title or an id'],
    [`${AGENT}sytem_promt: x\n`, 'sytem_promt is not a field of an agent; did you mean system_prompt?'],
    [`${AGENT}colour: red\n`, 'colour is not a field of an agent'],
    [`${WORKFLOW}max_turns: many\n`, 'max_turns: '],
    [`${WORKFLOW}skills: tone\n`, 'skills takes a list of names'],
    [`${AGENT}---\n${AGENT}`, 'The agent adder is declared twice'],
    ['kind: skill\n  name: x\n', 'a.yaml: '],
    ['name: adder\n', 'a resource needs a kind, and an export its lists'],
    [
      'kind: knowledge_source\nname: wiki\nconnection_config: {api_key: sk-1234567890}\n',
      'connection_config.api_key holds a secret; store it as a token and write {{token:NAME}}',
    ],
  ])('are refused with the reason and the file: %j', async (text, reason) => {
    const refusal = await declared(text).catch((error: Error) => error.message);
    expect(refusal).toContain(reason);
    expect(refusal).toContain('a.yaml');
    expect(refusal).not.toContain('sk-1234567890');
  });
});

describe('a plan', () => {
  const ADDER = ['agent', 'a1', { name: 'adder', system_prompt: 'Add.', description: 'kept' }] as const;

  it('changes only fields that are declared and differ', async () => {
    const items = await declared(AGENT.replace('Add.', 'Add well.'));
    const plan = buildPlan(items, worldOf([...ADDER]));
    expect(planJson(plan)).toEqual({
      steps: [
        {
          action: 'change',
          kind: 'agent',
          title: 'adder',
          id: 'a1',
          changes: [{ field: 'system_prompt', before: 'Add.', after: 'Add well.' }],
        },
      ],
      unchanged: 0,
    });
    expect(buildPlan(await declared(AGENT), worldOf([...ADDER]))).toEqual({ steps: [], unchanged: 1 });
  });

  it('refers to what is there and to what it will create, and fills in defaults of a budget', async () => {
    const budget = { max_cost_usd: null, max_tokens: 10, max_seconds: null, on_exhausted: 'wait' };
    const sums = ['workflow', 'w1', { title: 'Sums', agent_id: 'a1', budget }] as const;
    expect(buildPlan(await declared(WORKFLOW), worldOf([...ADDER], [...sums]))).toMatchObject({ steps: [], unchanged: 1 });
    const both = buildPlan(await declared(`${WORKFLOW}---\n${AGENT}`), worldOf());
    expect(both.steps.map(({ action, title }) => `${action} ${title}`)).toEqual(['create adder', 'create Sums']);
    const missing = await declared(WORKFLOW);
    expect(() => buildPlan(missing, worldOf())).toThrow('There is no agent "adder", here or in the files');
    const twice = worldOf([...ADDER], ['agent', 'a2', { name: 'adder' }]);
    expect(() => buildPlan(missing, twice)).toThrow('Several agents have the name "adder"; name one by its id');
  });

  it('stops at what refers to something that was not created', async () => {
    const { steps } = buildPlan(await declared(`${WORKFLOW}---\n${AGENT}`), worldOf());
    const nobody = createClient({ url: 'http://127.0.0.1:9', token: 'x' });
    await expect(applySteps(nobody, steps.slice(1), worldOf())).rejects.toThrow(
      'create workflow Sums: The agent "adder" was not created (0 of 1 done)',
    );
  });

  it('of a program has no id for what is new, and changes only for what changes', async () => {
    const gone = ['agent', 'a9', { name: 'gone' }] as const;
    const plan = buildPlan(await declared(AGENT), worldOf([...gone]), new Set(['a9']));
    expect(planJson(plan).steps).toEqual([
      { action: 'create', kind: 'agent', title: 'adder' },
      { action: 'delete', kind: 'agent', title: 'gone', id: 'a9' },
    ]);
  });

  it('compares a guardrail with the defaults of its type', async () => {
    const config = { forbidden_patterns: ['x'], required_patterns: [], min_length: null, max_length: null };
    const installed = worldOf(['guardrail', 'g1', { name: 'no-x', guardrail_type: 'prompt', config }]);
    const text = 'kind: guardrail\nname: no-x\nguardrail_type: prompt\nconfig: {forbidden_patterns: [x]}\n';
    expect(buildPlan(await declared(text), installed).steps).toEqual([]);
  });

  it('deletes what may be pruned, of the kinds in the files, users before what they use', async () => {
    const world = worldOf(
      [...ADDER],
      ['agent', 'a2', { name: 'old' }],
      ['agent', 'a3', { name: 'of others' }],
      ['skill', 's1', { name: 'tone' }],
      ['workflow', 'w2', { title: 'Old' }],
    );
    const items = await declared(`${WORKFLOW}---\n${AGENT}`);
    const plan = buildPlan(items, world, new Set(['a1', 'a2', 's1', 'w2']));
    expect(plan.steps.map(({ action, kind, title }) => `${action} ${kind.type} ${title}`)).toEqual([
      'create workflow Sums',
      'delete workflow Old',
      'delete agent old',
    ]);
    expect(plan.unchanged).toBe(1);
  });

  it('does not guess between workflows of one title', async () => {
    const world = worldOf([...ADDER], ['workflow', 'w1', { title: 'Sums' }], ['workflow', 'w2', { title: 'Sums' }]);
    const items = await declared(WORKFLOW);
    expect(() => buildPlan(items, world)).toThrow('Several of your workflows have the title "Sums"; add the id of one');
    const exact = await declared(`${WORKFLOW}id: w2\n`);
    expect(buildPlan(exact, world).steps).toMatchObject([{ action: 'change', id: 'w2' }]);
  });

  it('shows long texts line by line, and sums', async () => {
    const world = worldOf(['agent', 'a1', { name: 'adder', system_prompt: 'One.\nTwo.\nThree.\n', model: null }]);
    const items = await declared('kind: agent\nname: adder\nmodel: m\nsystem_prompt: |\n  One.\n  Zwei.\n  Three.\n');
    expect(planText(buildPlan(items, world)).split('\n')).toEqual([
      '~ agent adder',
      '    system_prompt',
      '      - Two.',
      '      + Zwei.',
      '    model',
      '      - null',
      '      + "m"',
      '0 to create, 1 to change, 0 to delete, 0 unchanged',
    ]);
  });
});
