/** The one text of a JSON number: its digits without zeros at either end, and a power of ten. */
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
  // Beyond all bounds: such numbers are told apart by how they are spelled.
  if (size.length > MAX_EXPONENT) return `${digits}e${size}:${last - whole.length}`;
  const power = Number(size) + all.length - last - fraction.length;
  return power >= 0 && power <= MAX_ZEROS ? digits + "0".repeat(power) : `${digits}e${power}`;
}

const PLAIN = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/;

// So that 1e2 is 100. What is short and plain has no more zeros than that.
const MAX_ZEROS = 400;
const MAX_PLAIN = 300;
const MAX_EXPONENT = 14;
