import { button, make } from './elements.js';

const CONTINUITY = {
  title: 'The installation was restored. Resume this run from its record?',
  choices: { resume: 'Resume the run', fail: 'Fail the run' },
};

/** Characters that are not seen or that reorder others, as in src/domain/unseen.ts, which this page cannot import. */
const UNSEEN = /(?![\n\t]|\r\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

const showUnseen = (text) =>
  text.replaceAll(UNSEEN, (character) => `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}›`);

const RESUMED = 'A resumed run repeats no recorded step and asks about each call that may already have taken effect.';

const APPROVAL = {
  kind: 'approvals',
  title: (name) => `Approve the call to ${name}?`,
  field: 'message',
  note: 'Message to the model (optional)',
  choices: { approve: 'Approve', deny: 'Deny' },
};

const RECONCILIATION = {
  kind: 'reconciliations',
  title: (name) => `Did the call to ${name} take effect? Its worker was lost, or the installation was restored.`,
  field: 'result',
  note: 'Result, if you mark it as done',
  choices: { retry: 'Retry the call', done: 'Mark as done', fail: 'Mark as failed' },
};

const QUESTIONS = { waiting_approval: APPROVAL, waiting_reconciliation: RECONCILIATION };

const serverOf = ({ asked_by }) =>
  asked_by ? ` of the MCP server ${showUnseen(asked_by.server)} (${asked_by.host ?? 'a command on a worker'})` : '';

/** What a waiting run asks for. `decided` is called when a question was answered. */
export async function questionsOf(api, task_id, decided) {
  const path = `/api/tasks/${task_id}`;
  const [task, steps] = await Promise.all([api.send('GET', path), api.send('GET', `${path}/steps`)]);
  const calls = steps.flatMap(({ tool_calls }) => tool_calls).filter(({ status }) => QUESTIONS[status]);
  const ask = { api, path, decided };
  const asked = steps.flatMap(({ tool_calls }) => tool_calls).filter(({ question }) => question);
  const forms = asked.map(
    ({ name, question }) => `${name}${serverOf(question)} asks: ${showUnseen(question.message)} Answer in the full dashboard.`,
  );
  const decisions = [...(task.record_behind ? [aboutRecord(task, ask)] : []), ...calls.map((call) => aboutCall(call, ask))];
  const questions = [...decisions, ...forms];
  return questions.length > 0 ? questions : ['The budget is used up. Raise it in the full dashboard to resume the run.'];
}

function aboutRecord({ record_behind }, { api, path, decided }) {
  const { title, choices } = CONTINUITY;
  return question(title, {
    details: [make('p', {}, `The record of the run lacks ${record_behind}. ${RESUMED}`)],
    choices,
    send: (decision) => api.send('POST', `${path}/continuity`, { decision }),
    decided,
  });
}

function aboutCall({ call_id, name, arguments: given, status }, { api, path, decided }) {
  const { kind, title, field, note, choices } = QUESTIONS[status];
  const input = make('input', { id: `note-${call_id}` });
  return question(title(name), {
    details: [make('pre', { tabIndex: 0 }, showUnseen(given)), make('label', { htmlFor: input.id }, note), input],
    choices,
    send(decision) {
      const said = input.value && { [field]: input.value };
      return api.send('POST', `${path}/${kind}/${encodeURIComponent(call_id)}`, { decision, ...said });
    },
    decided,
  });
}

/** The question disappears when a decision was accepted. */
function question(title, { details, choices, send, decided }) {
  const decide = (decision) => async () => {
    await send(decision);
    asked.remove();
    decided();
  };
  const buttons = Object.entries(choices).map(([decision, label]) => button(label, decide(decision)));
  const asked = make('fieldset', {}, make('legend', {}, title), ...details, make('div', { className: 'row' }, ...buttons));
  return asked;
}
