import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const DASHBOARD = resolve(import.meta.dirname, '../../src/dashboard');

const sources = readdirSync(DASHBOARD, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => ({ file: relative(DASHBOARD, file), text: readFileSync(file, 'utf8') }));

const using = (pattern: RegExp, ...allowed: string[]) =>
  sources.filter(({ file, text }) => pattern.test(text) && !allowed.includes(file)).map(({ file }) => file);

it('draws times in one place, so that each has its zone', () => {
  expect(using(/<time\b|toLocale(?:Date|Time)?String\((?!'en'\))|DateTimeFormat/, 'ui/time.tsx', 'ui/format.ts')).toEqual([]);
});

it('lets records be chosen with pickers alone, so that each offers to make another', () => {
  // The filters above lists look for what is there.
  const allowed = ['resources/pickers.tsx', 'resources/pages.tsx', 'runs/task-filters.tsx', 'inbox/inbox-page.tsx'];
  expect(using(/<(?:Multi)?Select\b/, ...allowed)).toEqual([]);
  expect(
    using(
      /useNames\(/,
      'resources/references.ts',
      'resources/columns.tsx',
      'shell/palette.tsx',
      ...allowed,
      'make/use-make.ts',
      'make/make-page.tsx',
    ),
  ).toEqual([]);
});

it('keeps every tab in the address', () => {
  expect(using(/<Tabs(?![.\w])(?! \{\.\.\.)/)).toEqual([]);
  expect(sources.filter(({ text }) => /<Tabs \{\.\.\./.test(text) && !text.includes('useTab(')).map(({ file }) => file)).toEqual(
    [],
  );
});

it('opens dialogs of one kind, of which Escape closes the innermost alone', () => {
  expect(using(/<Modal\b/, 'ui/dialog.tsx')).toEqual([]);
});

it('gives every block of code its copy button', () => {
  expect(using(/<pre\b/, 'ui/show.tsx', 'ui/markdown.tsx')).toEqual([]);
});

it('guards every form and field that holds text', () => {
  const typed = using(/<(?:form|Textarea|TextInput|TagsInput|NumberInput|PasswordInput|JsonInput|Autocomplete)\b/);
  const guarded = new Set(using(/useUnsaved\(|useKeptDraft\(/));
  const exempt = [
    // A question asked before anything can be typed, a file, and what filters a list.
    'shell/sign-in.tsx',
    'transfer/transfer.tsx',
    'ui/filter-bar.tsx',
    // The state of these is guarded where it is held: in use-composer.ts, form.tsx, make-page.tsx and bench.tsx.
    'chat/message-box.tsx',
    'resources/controls.tsx',
    'resources/guarded-tools.tsx',
    'resources/model-name.tsx',
    'make/model-section.tsx',
    'playground/messages.tsx',
  ];
  expect(typed.filter((file) => !guarded.has(file) && !exempt.includes(file))).toEqual([]);
  expect(exempt.filter((file) => !typed.includes(file) || guarded.has(file))).toEqual([]);
});

it('asks before it closes a dialog with a half-filled form', () => {
  expect(using(/<Dialog\b/, 'ui/unsaved.tsx', 'resources/pickers.tsx', 'shell/sign-in.tsx', 'help/help-button.tsx')).toEqual([]);
});

it('sends requests also from a browser that is offline: the service may run on the same computer', () => {
  const [client] = sources.filter(({ text }) => text.includes('new QueryClient('));
  expect(using(/new QueryClient\(/)).toEqual(['api/context.tsx']);
  expect(client?.text).toMatch(/mutations: \{[^}]*networkMode: 'always'/);
  expect(client?.text).toMatch(/queries: \{[^}]*networkMode: 'always'/);
});

it('names the scope of each button that sends something and of each dialog that does, so that viewers find it disabled', () => {
  expect(using(/loading=\{\w+\.isPending[^}]*\}(?!\s*data-needs=)/)).toEqual([]);
  // These dialogs only show something.
  expect(using(/<DialogButton(?![^>]*\bneeds=)[^>]*>/)).toEqual(['runs/span-panel.tsx']);
});
