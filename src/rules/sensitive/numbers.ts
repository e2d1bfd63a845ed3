import type { Range } from "./finder.ts";

/** Finds payment card numbers: digits with a length that their issuer uses and a correct check digit. */
export function findCards(text: string): Range[] {
  const found: Range[] = [];
  for (const { 0: run, index } of text.matchAll(DIGITS)) {
    const groups = [...run.matchAll(GROUP)];
    for (let first = 0; first < groups.length; first++) {
      const last = lastOfCard(groups, first);
      if (last < 0) continue;
      found.push({ start: index + groups[first].index, end: index + groups[last].index + groups[last][0].length });
      first = last;
    }
  }
  return found;
}

/** The index of the last group of digits in a card number that starts with group `first`; -1 if there is none. */
function lastOfCard(groups: readonly RegExpExecArray[], first: number): number {
  let digits = "";
  for (let last = first; last < groups.length; last++) {
    const [group] = groups[last];
    digits += group;
    if (group.length < MIN_GROUP_DIGITS || digits.length > MAX_CARD_DIGITS) return -1;
    if (digits.length >= MIN_CARD_DIGITS && isCard(digits)) return last;
  }
  return -1;
}

/** Finds IBANs: account numbers with the length used in their country and correct check digits. */
export function findIbans(text: string): Range[] {
  const found: Range[] = [];
  IBAN.lastIndex = 0;
  for (let match = IBAN.exec(text); match !== null; match = IBAN.exec(text)) {
    const length = lengthOfIban(match[0]);
    if (length > 0) found.push({ start: match.index, end: match.index + length });
    // The match may include the beginning of another IBAN.
    IBAN.lastIndex = match.index + Math.max(length, 4);
  }
  return found;
}

/** The length of the IBAN at the beginning of a text; 0 if there is none. */
function lengthOfIban(text: string): number {
  const wanted = IBAN_LENGTHS[text.slice(0, 2)];
  if (wanted === undefined) return 0;
  let length = 0;
  for (let count = 0; count < wanted && length < text.length; length++) if (text[length] !== " ") count++;
  if (/[A-Z0-9]/.test(text.charAt(length))) return 0;
  return isIban(text.slice(0, length).replaceAll(" ", ""), wanted) ? length : 0;
}

const DIGITS = /(?<![\w.])\d(?:[ -]?\d){12,}(?![A-Za-z_]|\.\d)/g;
const GROUP = /\d+/g;
const MIN_CARD_DIGITS = 13;
const MAX_CARD_DIGITS = 19;
const MIN_GROUP_DIGITS = 3; // as printed on cards
const ISSUERS = [
  /^4(?:\d{12}|\d{15}|\d{18})$/,
  /^(?:5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12})$/,
  /^3[47]\d{13}$/,
  /^3(?:0[0-5]|[689]\d)\d{11}$/,
  /^(?:6011|65\d\d|64[4-9]\d|62\d\d|35(?:2[89]|[3-8]\d))\d{12}$/,
];

function isCard(digits: string): boolean {
  return ISSUERS.some((issuer) => issuer.test(digits)) && hasLuhnDigit(digits);
}

function hasLuhnDigit(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighed = index % 2 === 0 ? digit : 2 * digit;
    sum += weighed > 9 ? weighed - 9 : weighed;
  }
  return sum % 10 === 0;
}

const IBAN = /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,31}/g;

// ISO 13616: the registered lengths by country.
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    "NO15 BE16 DK18 FI18 FK18 FO18 GL18 NL18 SD18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 MN20 XK20 CH21 HR21 LI21 LV21 " +
    "BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 ES24 MD24 PK24 RO24 SA24 " +
    "SE24 SK24 TN24 VG24 LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27 AL28 AZ28 BY28 CY28 DO28 GT28 HU28 " +
    "LB28 NI28 PL28 SV28 BR29 EG29 PS29 QA29 UA29 JO30 KW30 MU30 YE30 MT31 SC31 LC32 RU33"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** ISO 7064, modulo 97: country and check digits are moved to the end, and letters count as numbers from 10 on. */
function isIban(text: string, wanted: number): boolean {
  if (text.length !== wanted) return false;
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
