/** The scenario in a prompt's marker: `[[turns=3;ttft_ms=0;tokens=50;itl_ms=0;tool=lookup]]`. Every field is optional. */
export interface Scenario {
  /** The number of model calls: all but the last one call the tool, and the last one answers. */
  turns: number;
  /** The wait before the first token; `itl_ms` is the wait between two tokens. */
  ttft_ms: number;
  itl_ms: number;
  tokens: number;
  tool: string;
  /** The tool's argument `ms`. */
  toolms: number;
  /** The bytes of padding in the tool's arguments. */
  pad: number;
  /** The HTTP status of the first `failn` calls with this `key`. */
  status: number;
  failn: number;
  key: string;
  /** 1: the first call with this `key` breaks off in the middle of its answer. */
  cut: number;
}

const DEFAULTS: Scenario = {
  turns: 1,
  ttft_ms: 0,
  itl_ms: 0,
  tokens: 50,
  tool: 'lookup',
  toolms: 0,
  pad: 0,
  status: 0,
  failn: 0,
  key: '',
  cut: 0,
};

export function parseScenario(text: string): Scenario | undefined {
  const fields = /\[\[([\w.:-]+=[\w.:-]*(?:;[\w.:-]+=[\w.:-]*)*);?\]\]/.exec(text)?.[1];
  if (!fields) return undefined;
  const settings = Object.fromEntries(fields.split(';').map((field) => field.split('=') as [string, string]));
  const entries = Object.entries(DEFAULTS).map(([name, value]) => {
    const text = settings[name];
    return [name, text === undefined ? value : typeof value === 'string' ? text : Number(text) || 0];
  });
  return Object.fromEntries(entries) as Scenario;
}

export const scenarioText = ({ tokens }: Scenario): string =>
  Array.from({ length: tokens }, (_, index) => `tok${index}`).join(' ');
