/** Returns the result of the work; throws once the time is over. The caller must then end whatever the work waits for. */
export async function withTimeLimit<T>(work: Promise<T>, most_ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it did not answer within ${most_ms / 1_000} s`)), most_ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
