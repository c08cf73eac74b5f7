import { tasks } from '../../contracts/tasks.ts';
import { type ApiProblem, createClient } from '../api/call.ts';
import { sentence } from '../ui/sentence.ts';

/** Returns the reason why nobody can sign in with an access token; null if the service accepts it. */
export async function checkToken(token: string): Promise<string | null> {
  if (!token) return 'Enter an access token.';
  try {
    await createClient({ token: () => token, onRefused: () => {} }).call(tasks.list, { query: { limit: 1 } });
    return null;
  } catch (error) {
    return (error as ApiProblem).status === 401 ? 'This access token is not valid.' : sentence((error as ApiProblem).message);
  }
}
