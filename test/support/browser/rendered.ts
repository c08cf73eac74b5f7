import { MantineProvider, type MantineThemeOverride } from '@mantine/core';
import type * as Queries from '@tanstack/react-query';
import { type ComponentType, createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type * as Router from 'react-router';
import { vi } from 'vitest';
import type * as Context from '../../../src/dashboard/api/context.tsx';
import { browserSession, type Session } from '../../../src/dashboard/api/session.ts';
import type * as Pages from '../../../src/dashboard/help/pages.ts';
import type * as Catalog from '../../../src/dashboard/resources/catalog.tsx';
import type * as Deliveries from '../../../src/dashboard/runs/deliveries.tsx';
import type * as Actions from '../../../src/dashboard/runs/run-actions.tsx';
import { DASHBOARD, importScreens } from './screen-modules.ts';
import { type Sent, withSent } from './sent.ts';

/** The components that tests render: the file of each. */
const SCREENS = {
  AddToDataset: 'runs/add-to-dataset.tsx',
  AgentPanel: 'resources/panels/agent-panel.tsx',
  AlertPanel: 'resources/panels/alert-panel.tsx',
  AlertStatus: 'resources/panels/alert-panel.tsx',
  Backfill: 'resources/panels/backfill.tsx',
  Banners: 'shell/banners.tsx',
  Broken: 'ui/broken.tsx',
  ChangedMeanwhile: 'resources/edit.tsx',
  Changes: 'workflows/changes.tsx',
  Code: 'ui/show.tsx',
  CreatePage: 'resources/pages.tsx',
  Deliveries: 'runs/deliveries.tsx',
  Details: 'runs/details.tsx',
  DocsText: 'help/docs-text.tsx',
  EditPage: 'resources/pages.tsx',
  ErrorsTable: 'runs/errors-table.tsx',
  Failure: 'ui/states.tsx',
  FailureBelow: 'ui/states.tsx',
  FieldControl: 'resources/controls.tsx',
  GuardrailPanel: 'resources/panels/guardrail-panel.tsx',
  ImportReport: 'ui/import-report.tsx',
  HaltRun: 'runs/halt-run.tsx',
  Items: 'datasets/items.tsx',
  KeyPanel: 'resources/panels/key-panel.tsx',
  LineChoice: 'playground/line-choice.tsx',
  ListPage: 'resources/pages.tsx',
  Markdown: 'ui/markdown.tsx',
  McpImportForm: 'resources/panels/mcp-panel.tsx',
  McpPanel: 'resources/panels/mcp-panel.tsx',
  McpPromptChoice: 'make/mcp-prompts.tsx',
  McpTools: 'resources/panels/mcp-tools.tsx',
  MemoryPanel: 'resources/panels/memory-panel.tsx',
  Messages: 'playground/messages.tsx',
  ModelWindows: 'resources/model-windows.tsx',
  NeedsAlert: 'resources/needs.tsx',
  NeedsMark: 'resources/needs.tsx',
  NowLine: 'runs/now-line.tsx',
  Overview: 'overview/overview.tsx',
  Pauses: 'runs/pauses.tsx',
  PromptForm: 'workflows/prompt-form.tsx',
  ProviderModels: 'resources/panels/provider-panel.tsx',
  QuestionForm: 'runs/question-form.tsx',
  Regressions: 'datasets/regressions.tsx',
  RequestView: 'runs/step-request.tsx',
  Results: 'datasets/results.tsx',
  Review: 'runs/review.tsx',
  Rotate: 'resources/panels/key-panel.tsx',
  RunActions: 'runs/run-actions.tsx',
  RunCost: 'runs/run-cost.tsx',
  RunFacts: 'runs/run-facts.tsx',
  RunHead: 'runs/run-head.tsx',
  RunLog: 'runs/log.tsx',
  ScheduleActions: 'resources/panels/schedule-panel.tsx',
  SchedulePreview: 'resources/panels/schedule-panel.tsx',
  SignIn: 'shell/sign-in.tsx',
  SourcePanel: 'resources/panels/knowledge-panel.tsx',
  SpanPanel: 'runs/span-panel.tsx',
  Steps: 'runs/steps.tsx',
  TestVerdict: 'ui/show.tsx',
  TextDiff: 'ui/diff.tsx',
  Today: 'overview/today.tsx',
  RunsOverTime: 'runs/over-time.tsx',
  FailureRate: 'ui/failure-rate.tsx',
  Todos: 'runs/todos.tsx',
  TokenPanel: 'resources/panels/token-panel.tsx',
  ToolPanel: 'resources/panels/tool-panel.tsx',
  Transcript: 'runs/transcript.tsx',
  Trials: 'playground/trials.tsx',
  Versions: 'workflows/versions.tsx',
  Waiting: 'inbox/waiting.tsx',
} as const;
/** Those that are the default export of their file. */
const PAGES = {
  Audit: 'audit/audit.tsx',
  Chat: 'chat/chat-page.tsx',
  Compare: 'runs/compare.tsx',
  DatasetPage: 'datasets/dataset-page.tsx',
  EvaluationPage: 'datasets/evaluation-page.tsx',
  FirstRun: 'overview/first-run.tsx',
  Help: 'help/help-page.tsx',
  MakePage: 'make/make-page.tsx',
  McpSignIn: 'resources/mcp-sign-in.tsx',
  Playground: 'playground/playground-page.tsx',
  Tasks: 'runs/tasks.tsx',
  InboxPage: 'inbox/inbox-page.tsx',
  System: 'system/system.tsx',
  Usage: 'usage/usage.tsx',
  WorkflowPage: 'workflows/workflow-page.tsx',
} as const;

const MODULE = `
${Object.entries(SCREENS)
  .map(([name, file]) => `export { ${name} } from '${DASHBOARD}/${file}';`)
  .join('\n')}
${Object.entries(PAGES)
  .map(([name, file]) => `export { default as ${name} } from '${DASHBOARD}/${file}';`)
  .join('\n')}
export { CATALOG } from '${DASHBOARD}/resources/catalog.tsx';
export { findInterval } from '${DASHBOARD}/runs/deliveries.tsx';
export { readPage } from '${DASHBOARD}/help/pages.ts';
export { listReviews, listRuns } from '${DASHBOARD}/runs/run-actions.tsx';
export { theme } from '${DASHBOARD}/theme.ts';
export { WorldProvider } from '${DASHBOARD}/api/context.tsx';
export { MemoryRouter, Routes, Route } from 'react-router';
export { MutationObserver, QueryClient, QueryCache, QueryClientProvider } from '@tanstack/react-query';`;

type Screens = Record<keyof typeof SCREENS | keyof typeof PAGES, ComponentType<any>>;
type Modules = Screens &
  Pick<typeof Actions, 'listReviews' | 'listRuns'> &
  Pick<typeof Catalog, 'CATALOG'> &
  Pick<typeof Pages, 'readPage'> &
  Pick<typeof Deliveries, 'findInterval'> &
  Pick<typeof Context, 'WorldProvider'> &
  Pick<typeof Router, 'MemoryRouter' | 'Routes' | 'Route'> &
  Pick<typeof Queries, 'MutationObserver' | 'QueryClient' | 'QueryCache' | 'QueryClientProvider'> & {
    theme: MantineThemeOverride;
  };

/** All at once and for all files of a process, so that they share React Query and Router. */
let modules: Promise<Modules> | undefined;

/** The reply of an operation to an input, or to any; a list is the reply of its first page. An error is that of the request. */
type Reply = object | undefined;
export type Replies = Record<string, Reply | ((input: any) => Reply)>;

export interface Shown {
  replies?: Replies;
  props?: object;
  at?: string;
  /** The route, with the names of its parameters. */
  path?: string;
  /** True if an access token is known. */
  signed_in?: boolean;
  /** The session; otherwise one of the access token. */
  session?: Session;
  /** The states of the mutations that were sent, by their operations. */
  sent?: Sent;
}

const createStore = (token: string | null) => ({ getItem: () => token, setItem() {}, removeItem() {} }) as unknown as Storage;

/** Returns a cache in which each query has its reply or its error already; a query without one is loading. */
function createClient(the: Modules, replies: Replies) {
  const cache = new the.QueryCache();
  const build = cache.build.bind(cache);
  cache.build = ((client: Queries.QueryClient, options: Queries.QueryOptions, state?: Queries.QueryState) => {
    if (options.queryHash && cache.get(options.queryHash)) return build(client, options as never, state);
    const [operation, input = {}] = options.queryKey as [string, { list?: object }];
    const answer = replies[operation];
    const reply = typeof answer === 'function' ? answer(input.list ? { ...input, query: input.list } : input) : answer;
    const error = reply instanceof Error ? reply : null;
    const data = error ? undefined : input.list && reply ? { pages: [reply], pageParams: [null] } : reply;
    const known = {
      ...{ data, dataUpdateCount: 1, dataUpdatedAt: Date.now(), error, errorUpdateCount: 0, errorUpdatedAt: 0 },
    };
    const idle = { fetchFailureCount: 0, fetchFailureReason: null, fetchMeta: null, isInvalidated: false, fetchStatus: 'idle' };
    return build(
      client,
      options as never,
      state ?? (reply === undefined ? undefined : ({ ...known, ...idle, status: error ? 'error' : 'success' } as never)),
    );
  }) as typeof cache.build;
  // Otherwise a query that failed is shown as loading, because a screen tries it again.
  return new the.QueryClient({ queryCache: cache, defaultOptions: { queries: { retryOnMount: false } } });
}

/** What the screens show of a run that has no times and no usage yet. Every number differs from all others. */
export const SHOWN_TASK = {
  ...{ id: 't', error: null, error_code: null, prompt: 'Look.', workflow_id: 'w', workflow_title: 'Daily' },
  ...{ agent_id: 'a', agent_name: 'Clerk', model: 'large', turns: 19, steps: 23 },
  ...{ attachments: [], forked_from: null, turn_limit_reached: false },
};

/** Loads the screens as a browser without a session has them; with `now`, its clock stands there. `closeScreens` undoes this. */
export function openScreens(now?: number) {
  vi.stubGlobal('sessionStorage', { getItem: () => null, setItem() {} });
  vi.stubGlobal('location', { origin: 'https://perdura.example' });
  if (now !== undefined) vi.useFakeTimers({ toFake: ['Date'], now });
  return loadScreens();
}

export function closeScreens(): void {
  vi.useRealTimers();
  vi.unstubAllGlobals();
}

/** Imports the screens. `render` returns the HTML of one that has its replies already. */
async function loadScreens() {
  modules ??= importScreens<Modules>(MODULE);
  const the = await modules;
  function render(
    screen: ComponentType<any>,
    { replies = {}, props = {}, at = '/', path = '*', signed_in = false, session, sent = {} }: Shown,
  ): string {
    const { WorldProvider, QueryClientProvider, MemoryRouter, Routes, Route, theme } = the;
    const route = createElement(Route, { path, element: createElement(screen, props) });
    const page = createElement(QueryClientProvider, { client: createClient(the, replies) }, createElement(Routes, null, route));
    const shown_session =
      session ?? browserSession({ tab: createStore(signed_in ? 'token' : null), computer: createStore(null) });
    const world = createElement(WorldProvider as ComponentType<object>, { session: shown_session } as object, page);
    const router = createElement(MemoryRouter, { initialEntries: [at] }, world);
    return withSent(the, sent, () => renderToStaticMarkup(createElement(MantineProvider, { theme }, router)));
  }
  return { ...the, render };
}

export const toText = (html: string) =>
  html
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('&#x27;', "'")
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ')
    .trim();

/** Returns the labelled facts of a screen. */
export const readFacts = (html: string) =>
  Object.fromEntries([...html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)].map(([, label, value]) => [label, toText(value!)]));

/** Returns the buttons of a screen: the title of each that is disabled, or true, by its text. */
export const readButtons = (html: string) =>
  Object.fromEntries(
    [...html.matchAll(/<button([^>]*)>(.*?)<\/button>/gs)].map(([, attributes = '', content = '']) => [
      toText(content),
      /\sdisabled=/.test(attributes) ? (/\stitle="([^"]*)"/.exec(attributes)?.[1] ?? 'disabled') : true,
    ]),
  );

/** Returns the addresses of a screen's links, by their text. */
export const readLinks = (html: string) =>
  Object.fromEntries(
    [...html.matchAll(/<a(\s[^>]*)>(.*?)<\/a>/gs)].map(([, attributes = '', content = '']) => [
      toText(content),
      (/\shref="([^"]*)"/.exec(attributes)?.[1] ?? '').replaceAll('&amp;', '&'),
    ]),
  );
