import { withoutSlashes } from '../../domain/remote-address.ts';

/** Details of an execution, in Markdown, with a link to its page in the dashboard. `public_url` null: without. */
export const withPageLink = (details: string, public_url: string | null, page: string): string =>
  public_url === null ? details : `${details}\n\n[Open in Perdura](${withoutSlashes(public_url)}/dashboard/${page})`;
