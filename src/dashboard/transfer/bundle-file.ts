import { bundle, type ImportResult, type ResourceType, transfers } from '../../contracts/transfer.ts';
import type { AnyEndpoint } from '../api/call.ts';
import { parseJson } from '../ui/json.ts';

interface Part {
  label: string;
  export: AnyEndpoint;
  import: AnyEndpoint;
}

/** What can be exported and imported, by the `resource_type` of a file; a bundle has none. */
export const PARTS: Record<string, Part> = {
  bundle: { label: 'Everything', export: bundle.export, import: bundle.import },
  skill: { label: 'Skills', export: transfers.skill.exportAll, import: transfers.skill.import },
  guardrail: { label: 'Guardrails', export: transfers.guardrail.exportAll, import: transfers.guardrail.import },
  agent: { label: 'Agents', export: transfers.agent.exportAll, import: transfers.agent.import },
  workflow: { label: 'Your workflows', export: transfers.workflow.exportAll, import: transfers.workflow.import },
  knowledge_source: {
    label: 'Knowledge sources',
    export: transfers.knowledge_source.exportAll,
    import: transfers.knowledge_source.import,
  },
  scheduled_agent: {
    label: 'Your schedules',
    export: transfers.scheduled_agent.exportAll,
    import: transfers.scheduled_agent.import,
  },
} satisfies Record<'bundle' | ResourceType, Part>;

/** The report of one resource type, or of each in a bundle. */
export type Report = ImportResult | Record<string, ImportResult>;

/** Reads which part a file contains, or what is wrong with the file. */
export async function parseBundle(file: File | null): Promise<{ wrong: string } | { part: string; body: unknown }> {
  if (!file) return { wrong: 'Choose a file.' };
  const read = parseJson(await file.text());
  if ('wrong' in read) return read;
  const { resource_type } = Object(read.value);
  const part = typeof resource_type === 'string' ? resource_type : 'bundle';
  return Object.hasOwn(PARTS, part)
    ? { part, body: read.value }
    : { wrong: `This file contains ${part}, which cannot be imported. Choose a file from Export.` };
}

/** Lists the reports of an import with their titles. */
export function listReports(reply: Report): [string, ImportResult][] {
  if (Array.isArray((reply as ImportResult).errors)) return [['Items', reply as ImportResult]];
  const parts = Object.entries(reply as Record<string, ImportResult>).filter(([, part]) => !Array.isArray(part));
  return parts.map(([name, result]) => [name.replaceAll('_', ' '), result]);
}
