/** The canonical text of a JSON number: its digits without leading and trailing zeros, and a power of ten. */
export function canonicalNumber(text: string): string {
  if (text.length <= MAX_PLAIN && PLAIN.test(text)) return text;
  const [, minus, whole, fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  const all = `${whole}${fraction}`;
  let first = 0;
  while (first < all.length && all[first] === "0") first++;
  if (first === all.length) return "0";
  let last = all.length;
  while (all[last - 1] === "0") last--;
  const digits = `${minus}${all.slice(first, last)}`;
  const size = exponent.replace(/^(-?)0+(?=\d)/, "$1");
  // The exponent is too large to compute with, so it stays as text: equal numbers may get different texts here.
  if (size.length > MAX_EXPONENT) return `${digits}e${size}:${last - whole.length}`;
  const power = Number(size) + all.length - last - fraction.length;
  return power >= 0 && power <= MAX_ZEROS ? digits + "0".repeat(power) : `${digits}e${power}`;
}

const PLAIN = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/;

// Powers of ten up to MAX_ZEROS are written out, so that 1e2 becomes 100. A plain integer of at most MAX_PLAIN digits
// cannot have more zeros than that, so it is canonical already.
const MAX_ZEROS = 400;
const MAX_PLAIN = 300;
const MAX_EXPONENT = 14;
