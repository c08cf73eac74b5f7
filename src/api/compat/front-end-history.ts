import type { Attachment } from '../../contracts/attachments.ts';
import { listClientTools } from '../../domain/definition.ts';
import type { Store } from '../../store/index.ts';
import type { BranchTurn } from '../../store/runs/branches.ts';
import * as agUi from './ag-ui/messages.ts';
import { toPromptId } from './commands.ts';
import type { RunPart } from './projection/parts.ts';
import { readTranscript } from './projection/read-transcript.ts';
import * as ui from './ui/messages.ts';

/** A turn with the parts of its transcript. */
export interface ShownTurn extends BranchTurn {
  parts: RunPart[];
}

type ToFileUrl = (file: Pick<Attachment, 'id'>) => string;

/** Returns the newest turns of a branch, oldest first. */
export async function loadHistory(
  store: Pick<Store, 'branches' | 'definitions'>,
  head_task_id: string | null,
  limit: number,
): Promise<ShownTurn[]> {
  const turns = head_task_id === null ? [] : await store.branches.list(head_task_id, limit);
  const hashes = [...new Set(turns.map(({ definition_hash }) => definition_hash))];
  const client_tools = new Map<string, string[]>();
  for (const hash of hashes) client_tools.set(hash, listClientTools(await store.definitions.get(hash)));
  return turns.map((turn) => ({
    ...turn,
    parts: readTranscript({ ...turn, client_tools: client_tools.get(turn.definition_hash)! }),
  }));
}

const toPrompt = ({ task_id, prompt, attachments }: ShownTurn) => ({ id: toPromptId(task_id), text: prompt, files: attachments });

/** Returns the messages that `useChat` begins with. An answer without a part is left out, because its schema refuses one. */
export const listUiHistory = (turns: readonly ShownTurn[], toFileUrl: ToFileUrl): ui.UiMessage[] =>
  turns.flatMap((turn) => {
    const { task_id, status, last_event, parts } = turn;
    const metadata = { status, ...(last_event === null ? {} : { event: last_event }) };
    const answer = ui.toAssistantMessage(parts, { task_id, toFileUrl, metadata });
    return [ui.toUserMessage(toPrompt(turn), { toFileUrl }), ...(answer.parts.length > 0 ? [answer] : [])];
  });

export const listAgUiHistory = (turns: readonly ShownTurn[], toFileUrl: ToFileUrl): agUi.AgUiMessage[] =>
  turns.flatMap((turn) => [
    agUi.toUserMessage(toPrompt(turn), { toFileUrl }),
    ...agUi.toAgUiMessages(turn.parts, { task_id: turn.task_id, toFileUrl }),
  ]);
