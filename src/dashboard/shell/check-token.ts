import { me } from '../../contracts/me.ts';
import { type ApiProblem, createClient } from '../api/call.ts';
import { sentence } from '../ui/sentence.ts';

type Checked = { person: string } | { refusal: string };

/** Returns whose access token it is, or the reason why nobody can sign in with it. */
export async function checkToken(token: string): Promise<Checked> {
  if (!token) return { refusal: 'Enter an access token.' };
  try {
    const { id } = await createClient({ token: () => token, onRefused: async () => false }).call(me.get);
    return { person: id };
  } catch (error) {
    const { status, message } = error as ApiProblem;
    return { refusal: status === 401 ? 'This access token is not valid.' : sentence(message) };
  }
}
