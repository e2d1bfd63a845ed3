/** Whether no character of a text has an upper or lower case. Such a text can be searched for as it is. */
export function hasNoCase(text: string): boolean {
  return !/\p{CWCM}/u.test(text);
}

/** Whether all characters are ASCII. */
export function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}
