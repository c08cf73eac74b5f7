import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorkflowCreate } from '../../src/contracts/workflows.ts';
import { toAnchor } from '../../src/dashboard/help/links.ts';
import { toFields } from '../../src/dashboard/resources/fields.ts';
import { summarizeFields } from '../../src/dashboard/resources/summary.ts';
import { toControls } from '../../src/dashboard/resources/values.ts';
import { closeScreens, openScreens, readButtons, toText } from '../support/browser/rendered.ts';

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens();
}, 60_000);
afterAll(closeScreens);

const create = (slug: string) =>
  the.render(the.CreatePage, { at: `/${slug}/new`, path: '/:resource/new', replies: { list_agents: { items: [], total: 0 } } });

describe('a section of a form', () => {
  it('that is folded names what differs from the defaults', () => {
    const fields = toFields(WorkflowCreate).filter(({ name }) =>
      ['max_turns', 'caveman', 'skill_ids', 'repo_url', 'repo_branch', 'output_schema'].includes(name),
    );
    const summary = (values: object) => summarizeFields(fields, { ...toControls(fields, null), ...values });
    expect(summary({})).toBe('defaults');
    expect(summary({ max_turns: 7, caveman: true, skill_ids: ['a', 'b', 'c'], repo_branch: 'b'.repeat(24) })).toBe(
      `Max turns: 7 · Skills: 3 · Caveman: on · Repo branch: ${'b'.repeat(24)}`,
    );
    expect(summary({ repo_branch: 'b'.repeat(25), output_schema: '{}' })).toBe('Output schema: {} · Repo branch: set');
  });

  it('is closed in a new workflow, but not the one that is always needed', () => {
    const html = create('workflows');
    expect(html.match(/<details[^>]*>/g)).toHaveLength(7);
    expect(html).not.toMatch(/<details[^>]*\sopen/);
    expect(html.slice(0, html.indexOf('<details'))).toContain('Title');
    expect(toText(html)).toContain('Repository defaults');
  });

  it('leads to a page of the docs that exists, with a heading that exists', () => {
    const places = Object.values(the.CATALOG).flatMap(({ groups = [] }) => groups.flatMap(({ help }) => help ?? []));
    expect(places.length).toBeGreaterThan(9);
    const broken = places.filter((place) => {
      const [page, section] = place.split('#');
      const file = join(import.meta.dirname, `../../docs/${page}.md`);
      const headings = existsSync(file) ? [...readFileSync(file, 'utf8').matchAll(/^##+ (.*)$/gm)] : [];
      return !existsSync(file) || (section && !headings.some(([, heading = '']) => toAnchor(heading) === section));
    });
    expect(broken).toEqual([]);
    expect(readButtons(create('workflows'))).not.toEqual({});
    expect(create('workflows')).toContain('aria-label="Help: Repository"');
  });
});

describe('a field', () => {
  it('marks its example, so that it is not taken for a value', () => {
    const html = create('custom-tools');
    const examples = [...html.matchAll(/placeholder="([^"]+)"/g)].map(([, text = '']) => text);
    expect(examples).toContain('Example: add');
    expect(examples.filter((text) => text.startsWith('Example:\ndef add'))).toHaveLength(1);
  });

  it.each([
    ['mcps', 'Folders of a stdio server', 'Transport type'],
    ['providers', 'Azure deployment', 'Default model'],
  ])('of a new record of %s that means nothing for its kind is not shown', (slug, label, other) => {
    const html = toText(create(slug));
    expect(html).toContain(other);
    expect(html).not.toContain(label);
  });
});
