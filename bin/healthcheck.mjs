// Exits with 0 if the process of this container is ready: the API, or a worker at WORKER_PORT.
const PATIENCE_MS = 4_000;

/** Returns the answer of whatever listens at the port; null if nothing does. */
async function readyAt(port) {
  try {
    return await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch (error) {
    if (error.cause?.code === 'ECONNREFUSED') return null;
    throw error;
  }
}

const { WORKER_PORT = '9464', PERDURA_PORT = '8080' } = process.env;
try {
  const reply = (await readyAt(WORKER_PORT)) ?? (await readyAt(PERDURA_PORT));
  process.stdout.write(reply ? await reply.text() : `Nothing listens at the ports ${WORKER_PORT} and ${PERDURA_PORT}`);
  process.exitCode = reply?.ok ? 0 : 1;
} catch (error) {
  process.stdout.write(error.message);
  process.exitCode = 1;
}
