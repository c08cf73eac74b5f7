import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyDraft, findOutdated, toDraft } from '../../src/dashboard/resources/drafts.ts';
import { type Field, mayHoldSecret, toFields } from '../../src/dashboard/resources/fields.ts';
import type { EditableScreen } from '../../src/dashboard/resources/resource.ts';
import { closeScreens, openScreens } from '../support/browser/rendered.ts';

let catalog: Record<string, EditableScreen>;
beforeAll(async () => {
  catalog = (await openScreens()).CATALOG as Record<string, EditableScreen>;
});
afterAll(closeScreens);

const fieldsOf = (slug: string) => toFields(catalog[slug]!.create, catalog[slug]!.overrides);

describe('the draft of a form', () => {
  const skill = { name: 'refunds', description: '', instructions: 'Pay.', tags: ['a'] };

  it('holds the edited fields alone, and puts them over the record as it is when the form is opened again', () => {
    const fields = fieldsOf('skills');
    const controls = { ...skill, instructions: 'Pay 7.' };
    const { typed, missing } = toDraft(fields, { controls, clean: skill, restored: null });
    expect([typed, missing]).toEqual([{ edits: { instructions: 'Pay 7.' }, over: { instructions: 'Pay.' }, missing: [] }, []]);
    const renamed = { ...skill, name: 'payments' };
    expect(applyDraft(fields, renamed, typed)).toEqual({ ...renamed, instructions: 'Pay 7.' });
    expect(findOutdated(fields, renamed, typed)).toEqual([]);
  });

  it('is nothing without edits', () => {
    const fields = fieldsOf('skills');
    expect(toDraft(fields, { controls: skill, clean: skill, restored: null })).toEqual({ typed: null, missing: [] });
    expect([applyDraft(fields, skill, null), findOutdated(fields, skill, null)]).toEqual([skill, []]);
  });

  it('names the edited fields that someone else has changed since, however often the form is opened', () => {
    const fields = fieldsOf('skills');
    const controls = { ...skill, instructions: 'Pay 7.' };
    const first = toDraft(fields, { controls, clean: skill, restored: null }).typed;
    const changed = { ...skill, instructions: 'Pay 11.' };
    expect(findOutdated(fields, changed, first)).toEqual(['Instructions']);
    const second = toDraft(fields, { controls: applyDraft(fields, changed, first), clean: changed, restored: first }).typed;
    expect(findOutdated(fields, changed, second)).toEqual(['Instructions']);
  });

  it('holds no secret, but names what it leaves out', () => {
    const fields = fieldsOf('tokens');
    const clean = { name: '', value: '', description: '', shared: false };
    const controls = { ...clean, name: 'smtp', value: 'hunter2' };
    const { typed, missing } = toDraft(fields, { controls, clean, restored: null });
    expect([typed, missing]).toEqual([{ edits: { name: 'smtp' }, over: { name: '' }, missing: ['Value'] }, ['Value']]);
    const forged = { edits: { value: 'hunter3' }, over: {}, missing: [] };
    expect(applyDraft(fields, clean, forged)).toEqual(clean);
  });

  it('leaves out a URL with a login', () => {
    const fields = fieldsOf('workflows');
    const clean = { repo_url: '', title: '' };
    const draftOf = (repo_url: string) => toDraft(fields, { controls: { repo_url, title: 'Fix' }, clean, restored: null });
    expect(draftOf('https://x-access-token:hunter2@github.com/a/b')).toEqual({
      typed: { edits: { title: 'Fix' }, over: { title: '' }, missing: ['Repository'] },
      missing: ['Repository'],
    });
    expect(draftOf('https://github.com/@a/b').typed?.edits).toEqual({ repo_url: 'https://github.com/@a/b', title: 'Fix' });
  });

  it('leaves out a field if a field in it, or another look of it, may hold a secret', () => {
    expect(mayHoldSecret({ nested_overrides: { password: { control: 'secret' } } })).toBe(true);
    expect(mayHoldSecret({ variant_overrides: { headers: { holds_secret: true } } })).toBe(true);
    expect(mayHoldSecret({ by: { field: 'kind', choices: { smtp: { control: 'secret' }, chat: {} } } })).toBe(true);
    expect(mayHoldSecret({ control: 'long', nested_overrides: { url: { control: 'text' } } })).toBe(false);
  });
});

/** Fields whose names sound secret, and whose values are not: names of stored tokens, numbers, declarations, the key of a memory. */
const HARMLESS = /token_name$|_tokens$|^(?:env_config|allow_secret_questions|key)$/;

it('keeps no field of any form that is named like a secret', () => {
  const suspicious = Object.values(catalog).flatMap(({ create, overrides }) =>
    toFields(create, overrides).filter(
      ({ name }) =>
        /secret|password|token|header|credential|connection|webhook|(?:^|_)(?:key|env)(?:_|$)/.test(name) && !HARMLESS.test(name),
    ),
  );
  expect(suspicious.filter((field: Field) => !mayHoldSecret(field)).map(({ name }) => name)).toEqual([]);
  expect(suspicious.map(({ name }) => name)).toEqual(expect.arrayContaining(['webhook_url', 'connection_config']));
});
