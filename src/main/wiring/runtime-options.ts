import { resolveContextWindow } from '../../domain/context-window.ts';
import type { Definition } from '../../domain/definition.ts';
import { toDeadlines } from '../../runtimes/bounded.ts';
import type { RuntimeOptions } from '../../runtimes/select.ts';
import type { SharedServices } from '../core.ts';

/** Returns the options with which runs and chats of this installation select their runtimes. */
export const getRuntimeOptions = ({ setting, egress }: Pick<SharedServices, 'setting' | 'egress'>): RuntimeOptions => ({
  default_runtime: setting.default_runtime,
  fetch: egress.providers.fetch,
  installationFetch: egress.installation,
  deadlines: toDeadlines(setting.config),
  vendor_url: setting.config.ANTHROPIC_API_URL,
});

interface Windowed {
  model: string | null;
  provider: Pick<NonNullable<Definition['provider']>, 'context_window'> | null;
}

/** Returns the context window of a run's or a chat's model, in tokens. */
export const getContextWindow =
  ({ setting }: Pick<SharedServices, 'setting'>) =>
  ({ model, provider }: Windowed): number =>
    resolveContextWindow(model ?? (provider ? null : setting.default_runtime.model), {
      set: provider?.context_window ?? null,
      fallback: setting.config.DEFAULT_CONTEXT_WINDOW,
    });
