import type { AttachedFile } from '../../domain/attachments.ts';
import type { Definition } from '../../domain/definition.ts';
import type { TranscriptMessage } from '../../domain/transcript.ts';
import { onlyRow, type Queryable } from '../database/database.ts';
import { hashDefinition } from '../resources/definitions.ts';
import { linkAttachments } from './attachments.ts';
import * as sql from './threads.sql.ts';

/** A turn that did not run: what was said before, elsewhere or by the person alone. */
export interface ImportedTurn {
  id: string;
  /** What the person said; empty: nothing. */
  prompt: string;
  response: unknown;
  /** The files of the prompt. */
  files: readonly AttachedFile[];
  created_at: Date;
  /** The messages, of which `extra` never goes to a model. */
  messages: readonly Omit<TranscriptMessage, 'turn'>[];
}

interface Target {
  thread_id: string;
  /** The workflow to which the turns belong, and its agent. */
  workflow_id: string;
  agent: { id: string; name: string };
}

/**
 * Adds turns to a thread, in order, in the caller's transaction. Returns false, and adds nothing, while a turn of the thread is in
 * progress. They are not runs: lists of runs leave them out unless asked for the thread or for the trigger `imported`.
 */
export async function importTurns(on: Queryable, turns: readonly ImportedTurn[], target: Target): Promise<boolean> {
  const { thread_id, workflow_id, agent } = target;
  const definition = JSON.stringify(importedDefinition(target));
  const imported = turns.map(({ messages, files, response, ...turn }) => ({
    messages,
    turn: {
      ...{ ...turn, thread_id, workflow_id, agent_id: agent.id, agent_name: agent.name },
      ...{
        response: response ?? null,
        attachments: files.length > 0 ? files : null,
        definition_hash: hashDefinition(definition),
      },
    },
  }));
  const values = { hash: hashDefinition(definition), definition, turns: JSON.stringify(imported) };
  const { added } = await onlyRow<{ added: number }>(on, sql.addImportedTurns(values));
  if (added < turns.length) return false;
  for (const { id, files } of turns) if (files.length > 0) await linkAttachments(on, id, files);
  return true;
}

/** A task refers to a definition. That of an imported turn names its agent, and nothing that could run. */
const importedDefinition = ({ workflow_id, agent }: Target): Partial<Definition> => ({
  agent: { id: agent.id, name: agent.name, system_prompt: '' },
  workflow: { id: workflow_id, title: null },
  model: null,
  provider: null,
  skills: [],
  tools: [],
  repository: null,
  budget: null,
  webhooks: { completed: null, error: null },
});
