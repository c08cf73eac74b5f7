/** The settings of each model call of a run; null or empty: the model's default. */
export interface CallSettings {
  temperature: number | null;
  top_p: number | null;
  max_output_tokens: number | null;
  stop: string[];
  parallel_tool_calls: boolean | null;
}

/** The settings that have a value. The others are absent, so that a definition without any keeps its earlier hash. */
export type SetCallSettings = { [K in keyof CallSettings]?: NonNullable<CallSettings[K]> };

const UNSET: CallSettings = { temperature: null, top_p: null, max_output_tokens: null, stop: [], parallel_tool_calls: null };

const CALL_SETTINGS = Object.keys(UNSET) as (keyof CallSettings)[];

const isSet = (value: unknown) => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

export const pickSetCallSettings = (values: object): SetCallSettings =>
  Object.fromEntries(Object.entries(pickCallSettings(values)).filter(([, value]) => isSet(value)));

/** Returns all settings, as people read and write them. */
export const callSettings = (values: object): CallSettings => ({ ...UNSET, ...pickSetCallSettings(values) });

/** Returns the values without the call settings. */
export const withoutCallSettings = <T extends object>(values: T): Omit<T, keyof CallSettings> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !CALL_SETTINGS.some((known) => known === name))) as never;

const pickCallSettings = (values: object) =>
  Object.fromEntries(CALL_SETTINGS.map((name) => [name, (values as Record<string, unknown>)[name]]));
