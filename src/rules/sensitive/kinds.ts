import { API_KEYS, AUTHORIZATION, PASSWORDS } from "./credentials.ts";
import { findCards, findIbans } from "./numbers.ts";
import { createFinder, findPrivateKeys, type Finder } from "./finder.ts";

// Each pattern runs in linear time on any text: either nothing that could fail follows a repetition, or a lookbehind
// lets the repetition start only where the character before it is not one of its own.

/** The finders by the name of their kind. */
export const SENSITIVE_KINDS = {
  github: createFinder(/gh|github_pat_/, /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})/g),
  gitlab: createFinder(
    /gl/,
    /(?<![A-Za-z0-9])gl(?:pat|dt|ptt|rt|cbt|soat|ft|imt|agent|oas|ffct)-[A-Za-z0-9_-]{20,}(?:\.[a-z0-9]{2,9}){0,2}/g,
  ),
  aws: createFinder(
    /A3T|A[KSB]IA|ACCA|[sS](?:ecret|ECRET)_?[aA]/,
    /(?<![A-Za-z0-9])(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])|(?<=secret_?access_?key["'\s:=>\\]{1,8})[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/gi,
    // An access key ID has upper-case letters only. The name before a secret key may be in either case.
    (text) => text.length === 40 || text === text.toUpperCase(),
  ),
  gcp: createFinder(
    /AIza|ya29\.|GOCSPX-/,
    /(?<![A-Za-z0-9])(?:AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{28})/g,
  ),
  slack: createFinder(
    /xox|xapp-|hooks\.slack\.com/,
    /(?<![A-Za-z0-9])(?:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})|(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9/_+-]{20,}/g,
  ),
  openai: createFinder(
    /sk-/,
    /(?<![A-Za-z0-9])sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})/g,
  ),
  anthropic: createFinder(/sk-ant-/, /(?<![A-Za-z0-9])sk-ant-[A-Za-z0-9_-]{20,}/g),
  stripe: createFinder(
    /_live_|_test_|whsec_/,
    /(?<![A-Za-z0-9])(?:[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{32,})/g,
  ),
  npm: createFinder(
    /npm_|_authToken/,
    /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36,}|(?<=_authToken\s{0,2}=\s{0,2})[^\s"'$]{8,}/g,
  ),
  huggingface: createFinder(/hf_/, /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}/g),
  notion: createFinder(
    /ntn_|secret_/,
    /(?<![A-Za-z0-9])(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})(?![A-Za-z0-9])/g,
  ),
  sendgrid: createFinder(/SG\./, /(?<![A-Za-z0-9])SG\.[\w-]{16,32}\.[\w-]{32,64}/g),
  discord: createFinder(
    /[MNO][\w-]{23}|api\/webhooks\//,
    /(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}(?![\w.-])|(?<=discord(?:app)?\.com\/api\/webhooks\/\d{15,20}\/)[\w-]{60,}/g,
    // Three parts of base64. A text without a digit, a lower-case and an upper-case letter is a dotted name.
    (text) => !text.includes(".") || (/\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text)),
  ),
  telegram: createFinder(/:AA/, /(?<![\w:])\d{8,10}:AA[\w-]{33}(?![\w-])/g),
  digitalocean: createFinder(/do[opr]_v1_/, /(?<![A-Za-z0-9])do[opr]_v1_[a-f0-9]{64}/g),
  azure: createFinder(
    /Account[kK]ey|Shared[aA]ccess[kK]ey|sig=|\dQ~/,
    /(?<=(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{43,86}={1,2}|(?<=[?&]sig=)[A-Za-z0-9%+/]{43,60}(?:%3D|=)|(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/gi,
  ),
  api_key: API_KEYS,
  password: PASSWORDS,
  authorization: AUTHORIZATION,
  jwt: createFinder(/eyJ/, /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/g),
  private_key: { hint: /PRIVATE KEY/, find: findPrivateKeys },
  basic_auth: createFinder(/:\/\//, /(?<=[a-z0-9+.-]:\/\/)[^\s/?#@:"'<>]*:[^\s/?#"'<>]+(?=@)/gi),
  email: createFinder(/@/, /(?<![\p{L}\p{N}._%+'-])[\p{L}\p{N}._%+'-]+@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/gu),
  phone: createFinder(
    /\d[\d .()/-]{6}/,
    /(?<![\w+.])(?:\+|00)[1-9](?:[ .\-/()]{0,3}\d){7,14}(?!\d)|(?<![\w.+-])(?:\([2-9]\d\d\) ?|[2-9]\d\d[-. ])\d{3}[-. ]\d{4}(?![\w-])/g,
  ),
  credit_card: { hint: /\d[\d -]{11}/, find: findCards },
  iban: { hint: /[A-Z]{2}\d\d/, find: findIbans },
  ipv4: createFinder(
    /\d\.\d/,
    /(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?!\.?\w)/g,
  ),
} as const satisfies Record<string, Finder>;

/** The name of a kind. */
export type SensitiveKind = keyof typeof SENSITIVE_KINDS;

/** Names for groups of kinds, and short names. */
const KIND_GROUPS = {
  secrets: [
    "github",
    "gitlab",
    "aws",
    "gcp",
    "slack",
    "openai",
    "anthropic",
    "stripe",
    "npm",
    "huggingface",
    "notion",
    "sendgrid",
    "discord",
    "telegram",
    "digitalocean",
    "azure",
    "api_key",
    "password",
    "authorization",
    "jwt",
    "private_key",
    "basic_auth",
  ],
  personal: ["email", "phone", "credit_card", "iban", "ipv4"],
  card: ["credit_card"],
  ip: ["ipv4"],
} as const satisfies Readonly<Record<string, readonly SensitiveKind[]>>;

/** Every name that a policy file can use. */
export const KIND_NAMES = [
  ...(Object.keys(KIND_GROUPS) as (keyof typeof KIND_GROUPS)[]),
  ...(Object.keys(SENSITIVE_KINDS) as SensitiveKind[]),
] as const;

/** The kinds that a name stands for; null if the name is unknown. */
export function kindsOf(name: string): readonly SensitiveKind[] | null {
  if (Object.hasOwn(KIND_GROUPS, name)) return KIND_GROUPS[name as keyof typeof KIND_GROUPS];
  return Object.hasOwn(SENSITIVE_KINDS, name) ? [name as SensitiveKind] : null;
}
