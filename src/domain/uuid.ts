const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** True if a text has the form of an id: a UUID in lower case. The database rejects a comparison of an id with anything else. */
export const isUuid = (text: string): boolean => UUID.test(text);

/** Returns the smallest UUIDv7 of a time: ids created before that time are smaller. */
export function toFirstUuid(time: number): string {
  const hex = Math.max(0, Math.floor(time)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Returns when a UUIDv7 was created, in milliseconds since 1970. */
export const timeOfUuid = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
