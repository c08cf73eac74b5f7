const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether a text has the form of an id: a UUID in lower case. The database refuses a comparison of an id with anything else. */
export const isUuid = (text: string): boolean => UUID.test(text);
