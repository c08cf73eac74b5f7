import type { Mutant } from './mutant.ts';

const PROMPT_FILES = 'test/browser/dashboard-prompt-files.test.ts';
const ATTACHMENTS = 'test/temporal/attachments.test.ts';

export default [
  {
    id: 'attachments/everybodys',
    file: 'src/store/runs/attachments.ts',
    text: 'table.findMany({ where: { id: { in: distinct }, created_by }, select: FACTS })',
    replacement: 'table.findMany({ where: { id: { in: distinct } }, select: FACTS })',
    harm: "Anyone who knows an id gives somebody else's file to a model, and reads the answer.",
    tests: [{ file: ATTACHMENTS, name: 'are downloaded by their owner only' }],
  },
  {
    id: 'attachments/declared-type',
    file: 'src/domain/attachments.ts',
    text: ': mismatch(name, declared, detected_type);\n',
    replacement: ': detected_type;\n',
    harm: 'A file is taken for another one than its sender says.',
    tests: [{ file: ATTACHMENTS, name: 'are refused:' }],
  },
  {
    id: 'attachments/removed-in-use',
    file: 'src/store/runs/attachments.sql.ts',
    text: 'AND NOT EXISTS (SELECT 1 FROM task_attachments t WHERE t.attachment_id = a.id)',
    replacement: '',
    harm: 'No file is removed any more: the first one that a task refers to fails the sweep.',
    tests: [{ file: ATTACHMENTS, name: 'stay as long as a task refers to them' }],
  },
  {
    id: 'attachments/unjudged-texts',
    file: 'src/temporal/start/dispatch.ts',
    text: 'for (const text of [toPromptText(order), ...(await textsToAdmit(store, definition, order.attachments))])',
    replacement: 'for (const text of [toPromptText(order), ...(await textsToAdmit(store, definition, []))])',
    harm: 'What a guardrail forbids in a prompt gets to the model in a text file.',
    tests: [{ file: ATTACHMENTS, name: 'guardrails read the texts among them' }],
  },
  {
    id: 'attachments/dropped-for-sessions',
    file: 'src/temporal/start/attached-files.ts',
    text: "if (errors.length > 0) throw unprocessable(errors, 'attachments_not_supported');",
    replacement: '',
    harm: 'A session at the vendor answers about an image that it was not given.',
    tests: [{ file: ATTACHMENTS, name: 'is refused images where the conversation is kept by the vendor' }],
  },
  {
    id: 'attachments/fork-without',
    file: 'src/temporal/start/dispatch.ts',
    text: "return launch({ ...order, prompt, attachments, trigger: 'fork' }",
    replacement: "return launch({ ...order, prompt, trigger: 'fork' }",
    harm: 'A fork is asked about files that it does not have.',
    tests: [{ file: ATTACHMENTS, name: 'keeps them in forks' }],
  },
  {
    id: 'attachments/types-of-browsers',
    file: 'src/dashboard/workflows/prompt-files.tsx',
    text: 'const content = new File([file], file.name);',
    replacement: 'const content = file;',
    harm: 'The dashboard refuses a TypeScript file as a video.',
    tests: [{ file: PROMPT_FILES, name: 'are chosen or pasted, and the run is given those that were not removed' }],
  },
  {
    id: 'attachments/lost-refusals',
    file: 'src/dashboard/workflows/prompt-files.tsx',
    text: '[...current.filter(({ message }) => message !== problem.message), problem]',
    replacement: '[problem]',
    harm: 'Of several files that are refused, the dashboard names the last one only.',
    tests: [{ file: PROMPT_FILES, name: 'that are refused are named at once, and the others stay' }],
  },
  {
    id: 'attachments/pictures-of-texts',
    file: 'src/dashboard/workflows/prompt-form.tsx',
    text: 'if (!plain && !is_text) prompt_files.add(',
    replacement: 'if (!plain) prompt_files.add(',
    harm: 'Pasting a table also attaches a picture of it, which costs tokens.',
    tests: [{ file: PROMPT_FILES, name: 'are not taken from a copied text that brings a picture of itself' }],
  },
  {
    id: 'attachments/left-behind',
    file: 'src/dashboard/workflows/prompt-form.tsx',
    text: ' || prompt_files.files.some((file) => !files.includes(file))',
    replacement: '',
    harm: 'Files that were chosen are lost without a question when another screen is opened.',
    tests: [{ file: PROMPT_FILES, name: 'are asked about before the page is left' }],
  },
] satisfies Mutant[];
