import { GUARDRAIL_CONFIGS, type Guardrail, guardrails } from '../contracts/guardrails.ts';
import { type FieldError, unprocessable } from '../domain/errors.ts';
import { faultsOf, promptReasons, verdictOf } from '../guardrails/judge.ts';
import type { Store } from '../store/index.ts';
import type { Resource } from '../store/resource.ts';
import { foundIn, mountCrud, type SharedWrite } from './crud.ts';
import { type Api, mount } from './mount.ts';

export function guardrailRoutes(api: Api, { store }: { store: Store }, shared_write: SharedWrite): void {
  const found = foundIn(store.guardrails, guardrails.noun);
  const resource: Resource<Guardrail> = {
    ...store.guardrails,
    list: ({ guardrail_type, ...filter }: Parameters<Resource<Guardrail>['list']>[0] & { guardrail_type?: string }) =>
      store.guardrails.list(filter, guardrail_type ? { guardrail_type } : {}),
    create: async (values) => store.guardrails.create(withConfig(values as Guardrail)),
    async update(id, values) {
      const before = await found(id);
      const { guardrail_type = before.guardrail_type } = values as Partial<Guardrail>;
      if (guardrail_type !== before.guardrail_type)
        throw unprocessable([
          { path: 'guardrail_type', message: `It is fixed as ${before.guardrail_type}; create another guardrail` },
        ]);
      return store.guardrails.update(id, 'config' in values ? withConfig({ ...(values as Guardrail), guardrail_type }) : values);
    },
  };
  mountCrud(api, guardrails, { store: resource, shared_write, users: ({ id }) => store.usersOf('guardrail', id) });
  mount(api, guardrails.check, async ({ params: { id }, body: { text } }) => {
    const guardrail = await found(id);
    if (guardrail.guardrail_type !== 'output') {
      const violations = promptReasons(guardrail, text);
      const passed = violations.length === 0;
      return { passed, action: passed ? null : ('block' as const), violations, text: passed ? text : null };
    }
    const { findings, text: through } = verdictOf([guardrail], text);
    const [finding] = findings;
    return { passed: !finding, action: finding?.action ?? null, violations: finding?.reasons ?? [], text: through };
  });
}

/** With the configuration of its type, complete and checked: 422 names what is wrong in it. */
function withConfig<G extends Pick<Guardrail, 'guardrail_type' | 'config'>>(guardrail: G): G {
  const parsed = GUARDRAIL_CONFIGS[guardrail.guardrail_type].safeParse(guardrail.config);
  const errors: FieldError[] = parsed.success
    ? faultsOf(parsed.data)
    : parsed.error.issues.map(({ path, message }) => ({ path: ['config', ...path].join('.'), message }));
  if (errors.length > 0) throw unprocessable(errors);
  return { ...guardrail, config: parsed.data };
}
