/** Numbers from 0 to 1, the same for the same seed. */
export type Random = () => number;

/** Mulberry32: small, and good enough for tests. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A policy whose parts are all right, though a rule may contradict itself. Flow style, with blocks around it. */
export function writePolicy(random: Random): string {
  const parts = [
    "version: 1",
    pick(random, [
      'upstream: { url: "http://localhost:3000/mcp", headers: { Authorization: "Bearer ${TOKEN}" } }',
      "upstream: { command: [npx, server], env: { A: b } }",
    ]),
    "listen: 127.0.0.1:8808",
    'tools: { deny: ["^file_", ".*_write$"], hide: strict }',
    "prompts: { allow: [a] }",
    "limits: { max_message: 10MB, max_sessions: 64 }",
    "timeouts: { connection: 5s }",
    "audit: { file: a.jsonl }",
    "state: memory",
    "log: { level: info }",
  ].filter(() => random() < 0.4);
  const rules = Array.from({ length: Math.floor(random() * 5) }, (_, nth) => writeRule(random, nth));
  if (rules.length > 0) parts.push(`interceptor:\n  chain: { timeout: 5s }\n  rules:\n${rules.join("")}`);
  return `${parts.join("\n")}\n`;
}

function writeRule(random: Random, nth: number): string {
  const conditions = Array.from({ length: Math.floor(random() * 4) }, () => writeCondition(random, 0));
  const actions = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(random, ACTIONS));
  return `    - id: rule-${nth}\n      priority: ${Math.floor(random() * 100)}\n      conditions: [${conditions.join(", ")}]\n      actions: [${actions.join(", ")}]\n`;
}

function writeCondition(random: Random, depth: number): string {
  if (depth > 3 || random() < 0.75) return pick(random, CONDITIONS);
  const inner = Array.from({ length: 1 + Math.floor(random() * 3) }, () => writeCondition(random, depth + 1));
  return pick(random, [`{ all: [${inner.join(", ")}] }`, `{ any: [${inner.join(", ")}] }`, `{ not: ${inner[0]} }`]);
}

const CONDITIONS = [
  "{ method_equals: tools/call }",
  "{ method_in: [tools/call, tools/list] }",
  "{ method_starts_with: tools/ }",
  '{ method_matches: "^tools/" }',
  "{ param_exists: arguments.path }",
  "{ param_is_null: arguments.a }",
  "{ param_equals: { field: name, value: 12345678901234567890 } }",
  "{ param_in: { field: name, values: [a, 1, null, [x], { y: z }] } }",
  '{ param_matches: { field: /arguments/path, pattern: "\\\\.key$" } }',
  "{ param_greater_than: { field: arguments.n, value: 5 } }",
  "{ param_less_than: { field: arguments.n, value: 7.5 } }",
  "{ param_within: { field: arguments.p, paths: [/workspace] } }",
  '{ touches: { globs: ["**/.env", "~/.ssh/**"] } }',
  "{ result_exists: content[0].text }",
  "{ error_code_equals: -32000 }",
  "{ session_age_greater_than: 1h }",
  "{ calls_so_far: { greater_than: 3 } }",
  "{ direction: up }",
  "{ tool_matches: '(?i)delete' }",
  '{ cel: "size(params) > 3" }',
].map((text) => text.replace("content[0].text", '"content[0].text"'));

const ACTIONS = [
  "allow",
  "{ block: reason }",
  "{ delay: 10ms }",
  "{ set_param: { field: a.b, value: { c: [1, 2] } } }",
  "{ remove_param: a }",
  '{ inject_error: { code: 5, message: "no" } }',
  "{ transform: redact }",
  '{ log: { level: warn, message: "called ${tool}" } }',
  "{ metric: { name: calls } }",
  '{ webhook: { url: "https://h.example/x", wait: true } }',
  "{ run_script: { path: ./x } }",
  '{ rate_limit: { key: "${session_id}", limit: 5, window: 1m } }',
  '{ cache: { key: "${params_hash}", ttl: 1m } }',
];

/** The same with something in it that should not be: characters, lines and words lost, doubled, swapped or put in. */
export function spoil(text: string, random: Random): string {
  let spoilt = text;
  for (let times = 1 + Math.floor(random() * 4); times > 0; times--) {
    const at = Math.floor(random() * (spoilt.length + 1));
    const to = Math.min(spoilt.length, at + Math.floor(random() * 12));
    const lines = spoilt.split("\n");
    const line = Math.floor(random() * lines.length);
    spoilt = pick(random, [
      () => spoilt.slice(0, at) + spoilt.slice(to),
      () => spoilt.slice(0, at) + pick(random, ODD) + spoilt.slice(at),
      () => spoilt.slice(0, at) + spoilt.slice(at, to) + spoilt.slice(at),
      () => spoilt.slice(0, at) + pick(random, ODD) + spoilt.slice(to),
      () => lines.toSpliced(line, 1).join("\n"),
      () => lines.toSpliced(line, 0, lines[line]).join("\n"),
      () => lines.with(line, ` ${lines[line]}`).join("\n"),
      () => spoilt.replaceAll(/\b\w+\b/g, (word) => (random() < 0.02 ? pick(random, ODD) : word)),
      () => spoilt.slice(0, at),
    ])();
  }
  return spoilt;
}

const ODD = [
  ..."{}[]:,#&*!|>'\"%@`-?\\\t\r\n\0".split(""),
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "null",
  "~",
  "yes",
  ".inf",
  ".nan",
  "1e999",
  "9".repeat(500),
  "-1",
  "0x",
  "${",
  "${x}",
  "${param.__proto__.polluted}",
  "&a ",
  "*a",
  "<<: *a",
  "!!binary x",
  "--- ",
  "...",
  "(?=a)",
  "(",
  "\\1",
  "\uFEFF",
  "\u2028",
  "\u202e",
  "\ud800",
  "ü",
  "😀",
  "[[[[[[[[",
  "{a: {a: {a: ",
  "5s",
  "transport",
  "observe",
  "record: x",
];

function pick<T>(random: Random, all: readonly T[]): T {
  return all[Math.floor(random() * all.length)];
}
