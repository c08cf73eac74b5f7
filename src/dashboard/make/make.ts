import type { AnyEndpoint } from '../api/call.ts';

export type Made = Record<string, { id: string } & Record<string, unknown>>;

/** One record to create. Its body may refer to records created by earlier steps. */
export interface Step {
  name: string;
  create: AnyEndpoint;
  remove: AnyEndpoint;
  body(created: Made): object;
}

/** A request that created a record, or may have: its response can be lost. */
interface CreateAttempt {
  step: Pick<Step, 'name' | 'create' | 'remove'>;
  body: object;
  key: string;
  id: string | null;
}

export interface Service {
  create(endpoint: AnyEndpoint, request: { body: object; idempotency_key: string }): Promise<Made[string]>;
  remove(endpoint: AnyEndpoint, id: string): Promise<void>;
  /** True if the service refused the request, so that nothing was created. */
  isRefusal(error: unknown): boolean;
  isGone(error: unknown): boolean;
  newKey(): string;
}

/**
 * Creates several records that only make sense together. If one fails, those before it are deleted. If the service is
 * unreachable at that time, the next attempt deletes them first. Each request has an idempotency key, so a record whose
 * response was lost is found too.
 */
export function createMaker(service: Service) {
  const leftovers: CreateAttempt[] = [];

  async function undo(): Promise<void> {
    for (let last = leftovers.at(-1); last; last = leftovers.at(-1)) {
      const { step, body, key } = last;
      last.id ??= await findCreatedId(step.create, { body, idempotency_key: key });
      if (last.id !== null) {
        await service.remove(step.remove, last.id).catch((error: unknown) => {
          if (!service.isGone(error)) throw error;
        });
      }
      leftovers.pop();
    }
  }

  /**
   * Finds the id of the record that a request created, by repeating it with its key. Null if the service refuses it: nothing
   * was created.
   */
  const findCreatedId = (create: AnyEndpoint, request: { body: object; idempotency_key: string }) =>
    service.create(create, request).then(
      ({ id }) => id,
      (error: unknown) => {
        if (service.isRefusal(error)) return null;
        throw error;
      },
    );

  return {
    /** Lists the names of the steps whose records a failed attempt left behind. */
    listLeftovers: () => leftovers.map(({ step }) => step.name),
    async make(steps: readonly Step[]): Promise<Made> {
      await undo();
      const created: Made = {};
      try {
        for (const step of steps) {
          const attempt: CreateAttempt = { step, body: step.body(created), key: service.newKey(), id: null };
          leftovers.push(attempt);
          const record = await service
            .create(step.create, { body: attempt.body, idempotency_key: attempt.key })
            .catch((error) => {
              if (service.isRefusal(error)) leftovers.pop();
              throw error;
            });
          attempt.id = record.id;
          created[step.name] = record;
        }
      } catch (error) {
        await undo().catch(() => {
          // The records stay in `leftovers`, and the next attempt deletes them first.
        });
        throw error;
      }
      leftovers.length = 0;
      return created;
    },
  };
}
