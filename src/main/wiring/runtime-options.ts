import { type ContextWindow, findNamedSize, type NamedWindow } from '../../domain/context-window.ts';
import type { Definition } from '../../domain/definition.ts';
import { resolveContextWindow } from '../../domain/resolve-window.ts';
import { toDeadlines } from '../../runtimes/bounded.ts';
import type { RuntimeOptions } from '../../runtimes/select.ts';
import type { SharedServices } from '../core.ts';

/** Returns the options with which runs of this installation select their runtimes. */
export const getRuntimeOptions = ({ setting, egress }: Pick<SharedServices, 'setting' | 'egress'>): RuntimeOptions => ({
  default_runtime: setting.default_runtime,
  fetch: egress.providers.fetch,
  installationFetch: egress.installation,
  deadlines: toDeadlines(setting.config),
  vendor_url: setting.config.ANTHROPIC_API_URL,
});

interface Windowed {
  model: string | null;
  provider: Pick<
    NonNullable<Definition['provider']>,
    'id' | 'context_window' | 'provider_type' | 'base_url' | 'azure_deployment'
  > | null;
}

/** Returns the context window of a run's model; `named`: what was named for its provider and the model. */
export const getContextWindow =
  ({ setting }: Pick<SharedServices, 'setting'>) =>
  ({ model, provider }: Windowed, named?: NamedWindow | null): ContextWindow =>
    resolveContextWindow(model ?? (provider ? null : setting.default_runtime.model), {
      set: provider?.context_window ?? null,
      named: provider && findNamedSize(named, provider),
      fallback: setting.config.DEFAULT_CONTEXT_WINDOW,
    });

/** Finds the context window of a run that is on record, with the size that its endpoint named. */
export const windowFinder =
  (core: Pick<SharedServices, 'setting' | 'store'>) =>
  async (of: Windowed): Promise<ContextWindow> => {
    const { provider } = of;
    const asks = provider && provider.context_window === null;
    return getContextWindow(core)(of, asks ? await core.store.windows.find(provider.id, of.model ?? '') : null);
  };

/** Keeps the size that the endpoint of a run's model named when it refused a longer request. The default runtime has no provider. */
export const windowKeeper =
  ({ store }: Pick<SharedServices, 'store'>) =>
  async ({ model, provider }: Windowed, context_window: number): Promise<void> => {
    if (provider) await store.windows.keepRefused(provider, { model: model ?? '', context_window });
  };
