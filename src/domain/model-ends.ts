import { isNearEnd, type KnownModel } from './known-models.ts';

/** Returns a sentence about the end of a model that is near or past; null if there is none. `today` as `YYYY-MM-DD`. */
export function describeEnd({ id, vendor, ends_on, successor, ...model }: KnownModel, today: string): string | null {
  if (!isNearEnd({ ends_on, ...model }, today)) return null;
  const instead = successor ? `choose another model, such as ${successor}, which ${vendor} recommends` : 'choose another model';
  return ends_on! > today
    ? `${id} ends on ${ends_on}: ${vendor} stops answering for it, and runs fail from then on; ${instead}`
    : `${id} ended on ${ends_on}: ${vendor} no longer answers for it, so runs fail; ${instead}`;
}
