import type { BundleImportResult, PerduraClient } from '../../client/index.ts';
import { note } from '../terminal.ts';
import type { World } from './installed.ts';
import type { DeclaredKind, Fields } from './kinds.ts';
import { type Lookup, type PlanStep, resolveNames } from './plan.ts';

/** Performs the steps one after the other, and reports each. Throws at the first failure; earlier steps stay done. */
export async function applySteps(client: PerduraClient, steps: PlanStep[], world: World): Promise<void> {
  const new_ids = new Map<string, string>();
  const getId: Lookup = (of, name) => {
    const id = new_ids.get(`${of} ${name}`) ?? world.others.get(of as Parameters<typeof world.others.get>[0])?.get(name)?.[0];
    if (!id) throw new Error(`The ${of} ${JSON.stringify(name)} was not created`);
    return id;
  };
  for (const [done, step] of steps.entries()) {
    try {
      const id = await applyStep(client, step, getId);
      if (step.action === 'create') new_ids.set(`${step.kind.type} ${step.title}`, id);
    } catch (error) {
      throw new Error(
        `${step.action} ${step.kind.type} ${step.title}: ${(error as Error).message} (${done} of ${steps.length} done)`,
      );
    }
  }
}

async function applyStep(client: PerduraClient, step: PlanStep, idOf: Lookup): Promise<string> {
  if (step.action === 'create')
    return createRecord(client, step.kind, { ...toIdField(step), ...resolveNames(step.declared, idOf) });
  const path = { id: step.id };
  if (step.action === 'delete') {
    await client.request(`DELETE ${step.kind.path}/{id}` as 'DELETE /api/skills/{id}', { path });
    return step.id;
  }
  const fields = resolveNames(step.declared, idOf);
  const body = Object.fromEntries(step.changes.map(({ field }) => [field, fields[field]]));
  const reply = await client.request(`PUT ${step.kind.path}/{id}` as 'PUT /api/skills/{id}', { path, body });
  for (const { message } of reply.warnings ?? []) note(`warning: ${message}`);
  return step.id;
}

const toIdField = ({ declared }: Extract<PlanStep, { action: 'create' }>): Fields =>
  declared.id === null ? {} : { id: declared.id };

/** Creates a record by an import, which keeps the id of its file, so that references of an export stay valid. */
async function createRecord(client: PerduraClient, { part }: Pick<DeclaredKind, 'part'>, item: Fields): Promise<string> {
  const results: BundleImportResult = await client.request('POST /api/import', { body: { version: '1.0', [part]: [item] } });
  const { errors, ids, warnings } = results[part];
  for (const { message } of warnings) note(`warning: ${message}`);
  const [id] = ids;
  if (!id) throw new Error(errors.join('; '));
  return id;
}
