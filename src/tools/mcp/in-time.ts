/**
 * Returns the result of the work, or throws once the time is over. The caller then ends the resources that the work waits for.
 */
export async function withTimeLimit<T>(work: Promise<T>, most_ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it did not answer within ${most_ms / 1_000} s`)), most_ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
