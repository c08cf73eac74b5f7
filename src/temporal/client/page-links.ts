import { withoutSlashes } from '../../domain/remote-address.ts';

/** Adds a link to the execution's page in the dashboard to its details, in Markdown. Adds none if `public_url` is null. */
export const withPageLink = (details: string, public_url: string | null, page: string): string =>
  public_url === null ? details : `${details}\n\n[Open in Perdura](${withoutSlashes(public_url)}/dashboard/${page})`;
