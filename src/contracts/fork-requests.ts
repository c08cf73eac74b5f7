import { ForkedFrom } from './forks.ts';
import { PromptAccepted } from './workflows.ts';

export const ForkAccepted = PromptAccepted.extend({ forked_from: ForkedFrom }).meta({ id: 'ForkAccepted' });
