import type { AnyEndpoint } from '../api/call.ts';

export type Made = Record<string, { id: string } & Record<string, unknown>>;

/** One record to make. Its body may name what the steps before it made. */
export interface Step {
  name: string;
  create: AnyEndpoint;
  remove: AnyEndpoint;
  body(made: Made): object;
}

/** A request that made something, or may have: its answer can have been lost on the way. */
interface Begun {
  step: Pick<Step, 'name' | 'create' | 'remove'>;
  body: object;
  key: string;
  id: string | null;
}

export interface Service {
  create(endpoint: AnyEndpoint, request: { body: object; idempotency_key: string }): Promise<Made[string]>;
  remove(endpoint: AnyEndpoint, id: string): Promise<void>;
  /** Whether the service refused a request: nothing came of it then. */
  isRefusal(error: unknown): boolean;
  isGone(error: unknown): boolean;
  newKey(): string;
}

/**
 * Makes several records that only make sense together. When one cannot be made, those before it are removed again; what could not be
 * removed, because the service was out of reach, is kept in mind and removed when it is tried again. The key of each request makes sure
 * that one whose answer was lost is found, too.
 */
export function maker(service: Service) {
  const left: Begun[] = [];

  async function undo(): Promise<void> {
    for (let last = left.at(-1); last; last = left.at(-1)) {
      const { step, body, key } = last;
      last.id ??= await idOf(step.create, { body, idempotency_key: key });
      if (last.id !== null) {
        await service.remove(step.remove, last.id).catch((error: unknown) => {
          if (!service.isGone(error)) throw error;
        });
      }
      left.pop();
    }
  }

  /** Of what a request has made, asked again with its key; null when it is refused, for then there is nothing. */
  const idOf = (create: AnyEndpoint, request: { body: object; idempotency_key: string }) =>
    service.create(create, request).then(
      ({ id }) => id,
      (error: unknown) => {
        if (service.isRefusal(error)) return null;
        throw error;
      },
    );

  return {
    /** What a failed attempt has left behind, by the names of its steps. */
    left: () => left.map(({ step }) => step.name),
    async make(steps: readonly Step[]): Promise<Made> {
      await undo();
      const made: Made = {};
      try {
        for (const step of steps) {
          const begun: Begun = { step, body: step.body(made), key: service.newKey(), id: null };
          left.push(begun);
          const record = await service.create(step.create, { body: begun.body, idempotency_key: begun.key }).catch((error) => {
            if (service.isRefusal(error)) left.pop();
            throw error;
          });
          begun.id = record.id;
          made[step.name] = record;
        }
      } catch (error) {
        await undo().catch(() => {
          // Still on the list: the next attempt begins with it.
        });
        throw error;
      }
      left.length = 0;
      return made;
    },
  };
}
