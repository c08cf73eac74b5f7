const RECONNECT_MS = 1_000;

/** A client of the API. If a request fails, it throws the API's message with the status. */
export function createApi(token, onTokenRefused) {
  const authorized = (headers) => ({ authorization: `Bearer ${token}`, ...headers });

  async function answerOf(path, init) {
    const answer = await fetch(path, init);
    if (answer.ok) return answer;
    if (answer.status === 401) onTokenRefused();
    const { detail = `The service returned ${answer.status}`, errors = [] } = await answer.json().catch(() => ({}));
    const fields = errors.map((it) => `${it.path}: ${it.message}`).join('; ');
    throw Object.assign(new Error(fields ? `${detail}: ${fields}` : detail), { status: answer.status });
  }

  return {
    async send(method, path, body) {
      const headers = authorized(body && { 'content-type': 'application/json' });
      const answer = await answerOf(path, { method, headers, body: body && JSON.stringify(body) });
      return answer.status === 204 ? null : answer.json();
    },

    /** The newest items of a list, and the total number. */
    async list(path) {
      const answer = await answerOf(path, { headers: authorized() });
      return { items: await answer.json(), total: Number(answer.headers.get('x-total-count')) };
    },

    /** All events of a stream. A broken stream resumes after the last event seen, until the signal or a refusal ends it. */
    async *events(path, signal) {
      for (let last = '0'; ; ) {
        try {
          const answer = await answerOf(path, { headers: authorized({ 'last-event-id': last }), signal });
          if (answer.status === 204) return;
          for await (const frame of framesOf(answer.body)) {
            last = frame.id;
            yield frame;
          }
        } catch (error) {
          if (signal.aborted || error.status) throw error;
        }
        await new Promise((done) => setTimeout(done, RECONNECT_MS));
      }
    },
  };
}

async function* framesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let buffer = ''; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      const frames = (buffer + value).split('\n\n');
      buffer = frames.pop();
      for (const lines of frames.map((frame) => frame.split('\n'))) {
        const field = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        if (field('data')) yield { id: field('id'), ...JSON.parse(field('data')) };
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
