/** Whether no character of a text has another case: such a text is found as it is. */
export function hasNoCase(text: string): boolean {
  return !/\p{CWCM}/u.test(text);
}

/** Whether all characters are of ASCII. */
export function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}
