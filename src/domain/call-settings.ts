import type { RunSettings } from './definition.ts';

/**
 * Separates the settings of the loop from those of its model calls. The domain only carries the latter:
 * src/contracts/call-settings.ts declares them, and the runtimes send them.
 */
export function splitSettings(settings: RunSettings): { loop: RunSettings; call_settings: object } {
  const { max_turns, output_format, reasoning_effort, infinite_session, bypass_memory, auto_memory, ...others } = settings;
  const { tsv_tool_results, caveman, ...call_settings } = others;
  return {
    loop: {
      max_turns,
      output_format,
      reasoning_effort,
      infinite_session,
      bypass_memory,
      auto_memory,
      tsv_tool_results,
      caveman,
    },
    call_settings,
  };
}

const isSet = (value: unknown) => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

/** Returns the settings that have a value. */
export const omitUnset = (values: object): object =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => isSet(value)));
