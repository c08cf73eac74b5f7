import { createApi } from './api.js';
import { questionsOf } from './decisions.js';
import { $, attempt, button, make, notify, shorter, textOf } from './elements.js';

const KEY = 'perdura-access-token';
const ENDED = ['completed', 'failed', 'halted'];

let api = null;
let workflow = null;
let task_id = null;
let watching = new AbortController();

const cell = (content, className = '') => make('td', { className }, content ?? '');
const row = (...cells) => make('tr', {}, ...cells);

/** A time as year-month-day in the zone of the browser; the exact one in UTC is its title. */
function time(iso) {
  if (!iso) return '';
  const at = new Date(iso);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  return make('time', { dateTime: iso, title: iso }, `${local.slice(0, 10)} ${local.slice(11, 16)}`);
}

const stateOf = (name) => make('span', { className: `state ${name}` }, name);

/** The newest prompt of each workflow, from the list of tasks. */
const prompts = new Map();

/** The title of a workflow. One without a title is called by the first words of its newest prompt, else by the end of its id. */
const nameOf = (id, title) => title || firstWords(prompts.get(id) ?? '') || `#${id.slice(-8)}`;
const firstWords = (text) => shorter(text.split(/\s+/).filter(Boolean).slice(0, 6).join(' '), 40);

/** Shows the newest items of a list as rows. */
async function list(path, body, rowOf) {
  const { items, total } = await api.list(path);
  const columns = body.parentElement.tHead.rows[0].cells.length;
  const note = items.length === 0 ? 'None yet' : total > items.length ? `The newest ${items.length} of ${total}` : null;
  body.replaceChildren(...items.map(rowOf), ...(note ? [row(make('td', { colSpan: columns, className: 'hint' }, note))] : []));
}

const listWorkflows = () =>
  list('/api/workflows', $('workflows'), (it) =>
    row(
      cell(button(nameOf(it.id, it.title), () => openWorkflow(it), { className: 'link' })),
      cell(stateOf(it.status), 'status'),
      cell(it.task_count, 'wide'),
      cell(time(it.last_task_at), 'wide'),
    ),
  );

const listTasks = () => {
  prompts.clear();
  return list('/api/tasks', $('tasks'), (it) => {
    if (!prompts.has(it.workflow_id)) prompts.set(it.workflow_id, it.prompt);
    return row(
      cell(button(shorter(it.prompt, 80), () => openTask(it), { className: 'link' })),
      cell(stateOf(it.status), 'status'),
      cell(nameOf(it.workflow_id, it.workflow_title), 'wide'),
      cell(shorter(it.error ?? (it.response === null ? '' : textOf(it.response)), 120), 'wide'),
      cell(time(it.created_at), 'wide'),
    );
  });
};

function listResources() {
  const path = `/api/${$('kind').value}`;
  return list(path, $('resources'), (it) => {
    const name = it.name ?? it.key ?? it.id;
    const remove = async () => {
      if (!confirm(`Delete ${name}?`)) return;
      await api.send('DELETE', `${path}/${it.id}`);
      await listResources();
      notify(`Deleted ${name}`);
    };
    const all = make('pre', { tabIndex: 0 }, JSON.stringify(it, null, 2));
    const details = make('details', {}, make('summary', {}, it.description || it.id), all);
    const away = button('Delete', remove, { ariaLabel: `Delete ${name}` });
    return row(cell(name), cell(details), cell(time(it.created_at), 'wide'), cell(away));
  });
}

async function listAgents() {
  const agents = await api.send('GET', '/api/agents?limit=1000');
  $('agent').replaceChildren(...agents.map(({ id, name }) => make('option', { value: id }, name)));
}

/** Tasks first: they name the workflows that have no title. */
async function listRuns() {
  await listTasks();
  await listWorkflows();
}

const refresh = () => Promise.all([listRuns(), listResources()]);

/** Refreshes the lists when the watched run changes, except while the user has the focus in one of them. */
function keepUp() {
  if (!document.activeElement?.closest('tbody')) listRuns().catch((error) => notify(error.message, true));
}

function showRun(title) {
  $('run-title').textContent = title;
  $('run').hidden = false;
  $('run').focus();
}

async function openWorkflow(it) {
  workflow = it.id;
  showRun(nameOf(it.id, it.title));
  const [last] = await api.send('GET', `/api/tasks/workflow/${it.id}?limit=1`);
  if (last) watch(last.id);
  else unwatch();
}

async function openTask(it) {
  workflow = it.workflow_id;
  showRun(nameOf(it.workflow_id, it.workflow_title));
  watch(it.id);
}

function unwatch() {
  watching.abort();
  task_id = null;
  $('watch').hidden = true;
  $('halt').disabled = true;
}

/** Shows a run from its start and follows it until it ends. */
function watch(id) {
  unwatch();
  watching = new AbortController();
  task_id = id;
  for (const name of ['events', 'decisions', 'status', 'usage', 'partial']) $(name).replaceChildren();
  for (const name of ['partial', 'outcome', 'engine']) $(name).hidden = true;
  $('watch').hidden = false;
  const { signal } = watching;
  follow(id, signal).catch((error) => signal.aborted || notify(error.message, true));
}

async function follow(id, signal) {
  for await (const { type, data } of api.events(`/api/workflows/${workflow}/stream?task_id=${id}`, signal)) {
    if (signal.aborted) return;
    SHOW[type]?.(data);
    if (type === 'status' && ENDED.includes(data.status)) break;
  }
  await showOutcome(id);
}

const SHOW = {
  message_delta: ({ delta }) => partial($('partial').textContent + delta),
  message({ role, content, name }) {
    if (role === 'assistant') partial('');
    if (content) event(name ?? role, content, 'text');
  },
  log({ event: name, detail, call_id }) {
    // The retried step sends its whole text again.
    if (name === 'attempt_reset') partial('');
    // The installation was restored: the whole run follows.
    if (name === 'stream_reset') {
      partial('');
      $('events').replaceChildren();
    }
    if (name.endsWith('_requested')) askWhatWaits();
    event(name, call_id ? `${detail} (${call_id})` : detail, 'hint');
  },
  usage({ total_in, total_out, cost, priced = true }) {
    const known = cost ? `, $${cost.toFixed(4)}` : '';
    $('usage').textContent = `${total_in} tokens in, ${total_out} out${known}${priced ? '' : ', cost partly unknown'}`;
  },
  status({ status }) {
    $('status').textContent = status;
    $('halt').disabled = ENDED.includes(status);
    askWhatWaits();
    keepUp();
  },
};

function partial(text) {
  $('partial').textContent = text;
  $('partial').hidden = text === '';
}

const event = (name, text, className) =>
  $('events').append(make('li', { className }, make('b', {}, name), ` ${shorter(text, 10_000)}`));

/** Reads again which decisions the run waits for, if any. */
function askWhatWaits() {
  showDecisions($('status').textContent, task_id).catch((error) => notify(error.message, true));
}

async function showDecisions(status, id) {
  const questions = status === 'waiting' ? await questionsOf(api, id, () => $('run').focus()) : [];
  if (id === task_id && status === $('status').textContent) $('decisions').replaceChildren(...questions);
}

async function showOutcome(id) {
  const task = await api.send('GET', `/api/tasks/${id}`);
  if (id !== task_id) return;
  $('result').textContent = task.error ?? (task.response === null ? 'No response' : textOf(task.response));
  $('outcome').hidden = false;
  $('engine').hidden = !task.engine_run_url;
  $('engine').href = task.engine_run_url;
  keepUp();
}

async function enter(token) {
  api = createApi(token, signOut);
  await refresh();
  $('sign-in').hidden = true;
  for (const name of ['inside', 'account']) $(name).hidden = false;
}

function signOut() {
  unwatch();
  sessionStorage.removeItem(KEY);
  for (const name of ['inside', 'run', 'account']) $(name).hidden = true;
  for (const name of ['workflows', 'tasks', 'resources', 'agent', 'events', 'result']) $(name).replaceChildren();
  $('sign-in').hidden = false;
}

async function warnOfNoIsolation() {
  const { tool_isolation } = await (await fetch('/health/ready')).json();
  const unconfined = tool_isolation === 'process';
  $('banner').textContent = unconfined
    ? 'Tools run WITHOUT ISOLATION (TOOL_ISOLATION=none): a tool can do whatever this service can, and read its secrets.'
    : '';
  $('banner').hidden = !unconfined;
}

function onSubmit(id, act) {
  $(id).addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    void attempt(submitted.submitter, () => act(Object.fromEntries(new FormData(submitted.target)), submitted.target));
  });
}

onSubmit('sign-in-form', async (values, form) => {
  const token = values.token.trim();
  await enter(token);
  sessionStorage.setItem(KEY, token);
  form.reset();
});
onSubmit('workflow-form', async (values, form) => {
  const made = await api.send('POST', '/api/workflows', { ...values, max_turns: Number(values.max_turns) });
  form.reset();
  await Promise.all([listRuns(), openWorkflow(made)]);
});
onSubmit('prompt-form', async ({ prompt }, form) => {
  const accepted = await api.send('POST', `/api/workflows/${workflow}/prompt`, { prompt });
  form.reset();
  watch(accepted.task_id);
});
$('halt').addEventListener('click', async () => {
  await attempt($('halt'), () => api.send('POST', `/api/tasks/${task_id}/stop`));
  $('halt').disabled = ENDED.includes($('status').textContent);
});
$('close').addEventListener('click', () => {
  unwatch();
  $('run').hidden = true;
});
$('refresh').addEventListener('click', () => attempt($('refresh'), refresh));
$('new-workflow').addEventListener('toggle', () => attempt($('agent'), listAgents));
$('kind').addEventListener('change', () => attempt($('kind'), listResources));
$('sign-out').addEventListener('click', () => {
  signOut();
  notify('Signed out');
});

warnOfNoIsolation().catch((error) => notify(error.message, true));
const remembered = sessionStorage.getItem(KEY);
if (remembered)
  enter(remembered).catch(({ message }) => {
    signOut();
    notify(message, true);
  });
else $('sign-in').hidden = false;
