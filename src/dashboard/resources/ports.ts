import type { AnyEndpoint, CallInput } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useWork } from '../api/queries.ts';
import type { Values } from './fields.ts';
import type { EditableScreen } from './resource.ts';
import type { Ports } from './versions.ts';

/** Reads and saves a stored record with its ETag. */
export function usePorts({ endpoints, complete }: Pick<EditableScreen, 'endpoints' | 'complete'>, id: string): Ports {
  const { call, tagged } = useClient();
  const save = useWork((change: CallInput<AnyEndpoint>) => tagged(endpoints.update, change));
  const input: CallInput<AnyEndpoint> = { params: { id } };
  return {
    save: (body, if_match) => save.mutateAsync({ ...input, body, if_match }),
    async read() {
      // The tag is read first, so that a change in between counts as newer than the tag, never as older.
      const { value, tag } = await tagged<AnyEndpoint>(endpoints.get, input);
      const rest = complete ? pick(await call<AnyEndpoint>(complete.endpoint, input), complete.fields) : {};
      return { value: { ...value, ...rest }, tag };
    },
  };
}

const pick = (values: Values, names: string[]) => Object.fromEntries(names.map((name) => [name, values[name]]));
