import { HttpAgent, type RunAgentInput } from '@ag-ui/client';

/** The agent of a thread. A run without messages connects: it gets the messages so far, and the answer in progress. */
export class ThreadAgent extends HttpAgent {
  constructor(url: string, token: string) {
    super({ url: `${url}/ag-ui`, headers: { authorization: `Bearer ${token}` }, fetch: fetchOrExplain });
  }

  protected override requestInit(input: RunAgentInput): RequestInit {
    const { body, ...init } = super.requestInit(input);
    return input.messages.length === 0 ? { ...init, method: 'GET' } : { ...init, body };
  }
}

/** Fails with the sentence that says what is wrong: the page shows it. */
async function fetchOrExplain(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, init);
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer;
}

/** Perdura has the history: the page begins with a run without messages, and stores nothing. */
export const history = {
  load: async () => ({ messages: [], unstable_resume: true }),
  append: async () => {},
};
