import { HttpAgent, type RunAgentInput } from '@ag-ui/client';

/** The agent of a thread. A run without messages connects: it gets the messages so far, and the answer in progress. */
export class ThreadAgent extends HttpAgent {
  protected override requestInit(input: RunAgentInput): RequestInit {
    const { body, ...init } = super.requestInit(input);
    return input.messages.length === 0 ? { ...init, method: 'GET' } : { ...init, body };
  }
}

/** Perdura has the history: the page begins with a run without messages, and stores nothing. */
export const history = {
  load: async () => ({ messages: [], unstable_resume: true }),
  append: async () => {},
};
