import { describe, expect, test } from "vitest";
import { KIND_NAMES, kindsOf, SENSITIVE_KINDS, type SensitiveKind } from "../../../src/policy/sensitive/kinds.ts";
import { cpuTime } from "../../support/cpu.ts";

const found = (kind: SensitiveKind, text: string): string[] =>
  SENSITIVE_KINDS[kind].find(text).map(({ start, end }) => text.slice(start, end));

// Put together here, so that nobody takes them for lost ones.
const x = (count: number): string => "aB3dE5gH7j".repeat(10).slice(0, count);
const PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";

const EXAMPLES: Record<SensitiveKind, readonly string[]> = {
  github: [`ghp_${x(36)}`, `gho_${x(36)}`, `ghs_${x(40)}`, `github_pat_${x(22)}_${x(59)}`],
  gitlab: [`glpat-${x(20)}`, `glrt-${x(20)}`, `glpat-${x(27)}.01.1a2b3c4d5`],
  aws: ["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"],
  gcp: [`AIza${x(35)}`, `ya29.${x(40)}`, `GOCSPX-${x(28)}`],
  slack: [`xoxb-${"1".repeat(12)}-${x(24)}`, `xapp-1-A111-22-${x(20)}`],
  openai: [`sk-proj-${x(40)}`, `sk-${x(48)}`, `sk-svcacct-${x(30)}`],
  anthropic: [`sk-ant-api03-${x(90)}`],
  stripe: [`sk_live_${x(24)}`, `rk_test_${x(24)}`, `whsec_${x(32)}`],
  npm: [`npm_${x(36)}`],
  huggingface: [`hf_${x(34)}`],
  notion: [`ntn_${"1".repeat(11)}${x(35)}`, `secret_${x(43)}`],
  sendgrid: [`SG.${x(22)}.${x(43)}`],
  discord: [`M${x(23)}.${x(6)}.${x(27)}`, `N${x(25)}.X-_a1b.${x(38)}`],
  telegram: [`110201543:AA${x(33)}`],
  digitalocean: [`dop_v1_${"0a1b".repeat(16)}`, `doo_v1_${"9f".repeat(32)}`],
  azure: [`abc8Q~${x(34)}`],
  api_key: [],
  password: [],
  authorization: [],
  jwt: [`eyJ${x(20)}.eyJ${x(30)}.${x(43)}`],
  private_key: [PEM, PEM.replaceAll("RSA ", ""), PEM.replaceAll("RSA", "OPENSSH").replaceAll("\n", "\\n")],
  basic_auth: ["user:pa55", "user:p@ss", ":token"],
  email: ["jo.doe+x@mail.example.org", "müller@bücher.example"],
  phone: ["+49 30 1234567", "+1 (415) 555-2671", "+14155552671", "415-555-2671", "(415) 555-2671"],
  credit_card: ["4111 1111 1111 1111", "5555555555554444", "3782-822463-10005", "6011111111111117"],
  iban: ["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32", "NO93 8601 1117 947"],
  ipv4: ["192.168.0.1", "8.8.8.8", "255.255.255.255"],
};

const ALIKE: Partial<Record<SensitiveKind, readonly string[]>> = {
  github: ["ghp_short", `aghp_${x(36)}`],
  aws: ["AKIAIOSFODNN7EXAMPL", "akiaiosfodnn7example", `AKIA${"B".repeat(40)}`],
  openai: ["sk-learn", "task-force-sk-1"],
  stripe: ["sk_live_short"],
  huggingface: ["hf_model_name", `xhf_${x(34)}`],
  sendgrid: ["SG.short.one", "MSG.1234567890123456.1"],
  discord: ["Module.prototype.hasOwnProperty", "NotificationsControllerFactory.create.notificationsControllerFor"],
  telegram: [`110201543:BB${x(33)}`, "12:34:AA"],
  api_key: [
    "api_key=YOUR_API_KEY",
    "apiKey: process.env.API_KEY_2",
    "secret: undefined",
    "api_key: string",
    'secret_key = "xxxxxxxxxxxxxxxx"',
    "access_token: ${TOKEN_1234567890}",
    "token: com.example.package1.Class2",
    "monkey=1234567890abcdef",
  ],
  password: [
    "password: string",
    "password?: string | undefined",
    "password = options.password1",
    'password: "********"',
    "PWD=/home/user1/work",
    "USERNAME_PASSWORD: 0x02",
    "password: <your password>",
    "password = $PASSWORD1",
    "password: none",
  ],
  authorization: [
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_TOKEN",
    "Authorization: `Bearer ${token}`",
    "the bearer of this letter",
    "bearer authentication is described in RFC 6750",
  ],
  jwt: [`eyJ${x(20)}`, `eyJ${x(20)}.${x(20)}.${x(20)}`],
  private_key: ["-----BEGIN PUBLIC KEY-----", "a PRIVATE KEY"],
  basic_auth: ["https://example.org/a:b@c", "http://example.org:8080/", "mailto:jo@example.org"],
  email: ["@decorator", "a@b", "jo@example.", "user@localhost"],
  phone: ["2024-01-02 03:04:05", "1.2.3.4", "12345678901234", "v415-555-2671", "1-2-3"],
  credit_card: ["4111 1111 1111 1112", "1234567890123456", "1700000000000000", "4111.1111.1111.1111"],
  iban: ["DE89370400440532013001", "DE8937040044053201300", "XX89370400440532013000", "ABCD1234"],
  ipv4: ["256.1.1.1", "1.2.3", "1.2.3.4.5", "v1.2.3.4", "01.2.3.4"],
};

/** Around an address with a password there is one. */
const around = (kind: SensitiveKind, text: string): string =>
  kind === "basic_auth" ? `see https://${text}@host.example/x?y, or` : `see ${text}, or "so".`;

describe("what is sensitive is found, and all of it", () => {
  for (const kind of Object.keys(EXAMPLES) as SensitiveKind[]) {
    test.each(EXAMPLES[kind])(`${kind} %#`, (text) => {
      expect(found(kind, around(kind, text))).toEqual([text]);
      const twice = `${around(kind, text)}\n${around(kind, text)}`;
      expect(found(kind, twice)).toEqual([text, text]);
    });
  }

  test("a secret key by the name before it", () => {
    const secret = `${x(39)}/`;
    for (const name of ["aws_secret_access_key = ", 'SecretAccessKey": "', "AWS_SECRET_ACCESS_KEY="]) {
      expect(found("aws", `${name}${secret}`)).toEqual([secret]);
    }
  });

  test("keys and tokens by the name before them", () => {
    for (const name of [
      "api_key=",
      'apiKey: "',
      "API-KEY = '",
      '"client_secret":"',
      "OPENAI_API_KEY=",
      'secret\\": \\"',
    ]) {
      expect(found("api_key", `x ${name}${x(24)}" y`), name).toEqual([x(24)]);
    }
  });

  test("passwords by the name before them", () => {
    for (const name of ["password: ", 'password="', "DB_PASSWORD=", "passwd := ", "Passphrase: '"]) {
      for (const password of ["hunter2", "p@ssw0rd!x", "correct-horse#battery"])
        expect(found("password", `x ${name}${password}' y`), name).toEqual([password]);
    }
  });

  test("the credentials of requests", () => {
    const basic = Buffer.from("user:pass").toString("base64");
    for (const [text, secret] of [
      [`Authorization: Bearer ${x(24)}`, x(24)],
      [`authorization: "bearer ${x(12)}"`, x(12)],
      [`curl -H 'Authorization: Basic ${basic}' https://x`, basic],
      [`{"Authorization":"token ${x(20)}"}`, x(20)],
      [`send Bearer ${x(30)} with it`, x(30)],
    ]) {
      expect(found("authorization", text), text).toEqual([secret]);
    }
  });

  test("the keys of Azure by the name before them", () => {
    const key = `${x(86)}==`;
    expect(found("azure", `AccountName=a;AccountKey=${key};EndpointSuffix=x`)).toEqual([key]);
    expect(found("azure", `https://x.blob.core.windows.net/a?sv=1&sig=${x(43)}%3D&se=2`)).toEqual([`${x(43)}%3D`]);
  });

  test("a private key of which only the beginning is there", () => {
    expect(found("private_key", `x ${PEM.slice(0, 40)}`)).toEqual([PEM.slice(0, 40)]);
  });

  test("the secret in the address of a webhook, and a registry's token", () => {
    expect(found("slack", `https://hooks.slack.com/services/T0/B0/${x(24)} x`)).toEqual([`T0/B0/${x(24)}`]);
    expect(found("npm", `//registry.example/:_authToken=${x(20)}`)).toEqual([x(20)]);
  });

  test("numbers among numbers", () => {
    expect(found("credit_card", "12 4111 1111 1111 1111 22")).toEqual(["4111 1111 1111 1111"]);
    expect(found("credit_card", "4111111111111111 5555555555554444")).toEqual(["4111111111111111", "5555555555554444"]);
    expect(found("iban", "DE89370400440532013000 GB82WEST12345698765432 AND")).toEqual([
      "DE89370400440532013000",
      "GB82WEST12345698765432",
    ]);
  });
});

describe("in a text of megabytes", () => {
  const FILL = "lorem ipsum dolor sit amet, consectetur adipiscing elit. ".repeat(40_000); // more than two pieces

  test("what stands at the edge of a piece is found, once and as a whole", () => {
    const secret = `ghp_${x(36)}`;
    for (const edge of [1_048_576, 2_097_152])
      for (const by of [-60, -40, -20, -1, 0, 1, 20]) {
        const text = `${FILL.slice(0, edge + by)} ${secret} ${FILL.slice(edge + by)}`;
        expect(found("github", text), `${edge} ${by}`).toEqual([secret]);
        const named = `${FILL.slice(0, edge + by)} api_key="${x(30)}" ${FILL.slice(edge + by)}`;
        expect(found("api_key", named), `${edge} ${by}`).toEqual([x(30)]);
      }
  });

  test("a secret that is longer than a piece is found as a whole", () => {
    const secret = `ghp_${x(36).repeat(60_000)}`;
    expect(found("github", `see ${secret} or`)).toEqual([secret]);
    // Without pieces the engine's stack overflows on this.
    expect(() => SENSITIVE_KINDS.api_key.find("api_key=".repeat(1_250_000))).not.toThrow();
  });
});

describe("what only looks like it is left", () => {
  for (const [kind, texts] of Object.entries(ALIKE)) {
    test.each(texts)(`${kind} %s`, (text) => {
      expect(found(kind as SensitiveKind, `see ${text} or`)).toEqual([]);
    });
  }
});

test("every kind is in one group, and a name that stands for nothing is known to", () => {
  const both = ["secrets", "personal"].flatMap((name) => kindsOf(name) ?? []);
  expect(both.sort()).toEqual(Object.keys(SENSITIVE_KINDS).sort());
  for (const name of KIND_NAMES) expect(kindsOf(name)).not.toBeNull();
  expect(kindsOf("jwt")).toEqual(["jwt"]);
  expect(kindsOf("toString")).toBeNull();
  expect(kindsOf("passwords")).toBeNull();
});

describe("no text takes more time than its length", () => {
  const PIECES = [
    "a",
    "1",
    "1 ",
    "1-",
    "eyJ",
    "eyJa.",
    "eyJaaaaaaaa.eyJ",
    "ghp_",
    "sk-",
    "xox",
    "-----BEGIN PRIVATE KEY-----",
    "-----END ",
    "-----BEGIN A B C D ",
    "a://",
    "a://:",
    "a://a:a",
    "@",
    "a@",
    "a@a.",
    "a@a.a.",
    "@a.a.a.a",
    "+1 ",
    "+1(((",
    "00",
    "A1",
    "DE89",
    "DE89 ",
    "DE12 3",
    "1.",
    "1.1.1.",
    "secret_access_key",
    "password: ",
    "password:password:",
    "api_key=",
    "api_key = ''",
    "Authorization: Bearer ",
    "bearer ",
    "SG.",
    "SG.aaaaaaaaaaaaaaaa.",
    "MMMMMMMMMMMMMMMMMMMMMMMM.",
    "NaNaNaNaNaNaNaNaNaNaNaNa.aaaaaa.",
    "110201543:AA",
    "AccountKey=",
    "?sig=",
    "a.8Q~",
    "hf_",
    "secretaccesskey:::",
    "_authToken = ",
    "https://hooks.slack.com/services/",
    "AKIA",
    "A3T",
    "é",
    "😀",
    "\ud800",
    " ",
    "\n",
    "%",
    "'",
    "_",
    "-",
    "whsec_",
    "\u0000",
  ];
  const SIZE = 200_000;
  test.each(Object.keys(SENSITIVE_KINDS) as SensitiveKind[])(
    "%s",
    async (kind) => {
      for (const piece of PIECES) {
        for (const tail of ["", "!", "@", "@a.a", "."]) {
          const text = piece.repeat(SIZE / piece.length) + tail;
          const took = await cpuTime(() => SENSITIVE_KINDS[kind].find(text));
          // Whatever is worse than linear takes minutes.
          expect(took, `${piece} ${tail}`).toBeLessThan(1000);
        }
      }
    },
    60_000,
  );
});
