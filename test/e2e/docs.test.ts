import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { FAULTS } from "../../src/message/faults.ts";
import { ANY_ACTION } from "../../src/config/actions.ts";
import { ANY_CONDITION } from "../../src/config/conditions.ts";
import { POLICY } from "../../src/config/schema.ts";
import { isShown, readBlocks, readPages, readScenes, readUnion, root } from "../support/docs.ts";

const blocks = readBlocks();
const bin = mkdtempSync(join(tmpdir(), "fairlead-bin-"));
const home = mkdtempSync(join(tmpdir(), "fairlead-home-"));
// Where `npm install -g` puts things. Found first, so that what is installed is what runs from then on.
const prefix = mkdtempSync(join(tmpdir(), "fairlead-prefix-"));
const environment = {
  ...process.env,
  PATH: [join(prefix, "bin"), bin, process.env["PATH"]].join(delimiter),
  npm_config_prefix: prefix,
  HOME: home,
  XDG_STATE_HOME: "",
  TOKEN: "a token",
  APPROVAL_SECRET: "a secret",
};

function shim(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

/** The policy files of the pages, by name where they have one: a block whose first line is `# name.yaml`. */
const policies = blocks
  .filter(({ language }) => language === "yaml")
  .map(({ page, line, text }) => ({ page, line, text, name: /^# (\S+\.yaml)\n/.exec(text)?.[1] ?? null }));

beforeAll(() => {
  for (const { name, text } of policies) if (name !== null) writeFileSync(join(home, name), text);
  const command = join(root, "dist/command/fairlead.cjs");
  shim("fairlead", `exec "${process.execPath}" "${command}" "$@"`);
  // npx as a reader would have it, but without fetching: the real servers are among the peers.
  shim(
    "npx",
    `[ "$1" = -y ] && shift
case "$1" in
  @modelcontextprotocol/*) name="mcp-\${1#@modelcontextprotocol/}"; shift; exec "${process.execPath}" "${join(root, "test/peers/node_modules/.bin")}/$name" "$@" ;;
esac
echo "no such package here: $1" >&2; exit 1`,
  );
});

function run(command: string): { output: string; status: number | null } {
  const cwd = command.startsWith("npm ") ? root : home;
  const { stdout, status } = spawnSync("sh", ["-c", `exec 2>&1; ${command}`], {
    cwd,
    env: environment,
    encoding: "utf8",
    input: "",
  });
  return { output: stdout, status };
}

describe("what the pages show is what happens", () => {
  for (const { page, line, language, text } of blocks) {
    if (language !== "console") continue;
    test(`${page}:${line}`, () => {
      for (const { command, output } of readScenes(text)) {
        const real = run(command).output;
        expect(isShown(output, real), `$ ${command}\n${real}`).toBe(true);
      }
    });
  }
});

describe("commands on the pages run", () => {
  for (const { page, line, language, text } of blocks) {
    if (language !== "sh") continue;
    test(`${page}:${line}`, () => {
      for (const command of text.split("\n").filter((each) => each.startsWith("fairlead "))) {
        const { output, status } = run(command.replace("/srv/data", home));
        expect({ command, output, status }).toMatchObject({ status: 0 });
      }
    });
  }
});

describe("programs on the pages run", () => {
  for (const { page, line, language, text } of blocks) {
    if (language !== "js") continue;
    test(`${page}:${line}`, () => {
      const folder = join(root, ".cache/docs");
      mkdirSync(folder, { recursive: true });
      const file = join(folder, `${page.replaceAll(/\W/g, "-")}-${line}.mjs`);
      writeFileSync(file, text);
      execFileSync(process.execPath, [file], { cwd: home, env: environment, input: "", timeout: 30_000 });
    });
  }
});

describe("policies on the pages have no mistakes", () => {
  for (const { page, line, name, text } of policies) {
    // Parts of a rule are read by themselves, in test/docs.test.ts.
    if (name === "mistakes.yaml" || text.startsWith("- ")) continue;
    test(`${page}:${line}`, () => {
      const file = join(home, `${page.replaceAll(/\W/g, "-")}-${line}.yaml`);
      writeFileSync(file, text);
      for (const [module] of text.matchAll(/\.\/[\w-]+\.mjs/g)) writeFileSync(join(home, module), "");
      expect(run(`fairlead check ${file}`)).toEqual({ output: expect.stringContaining(": no mistakes ("), status: 0 });
    });
  }
});

test("JSON on the pages is JSON", () => {
  for (const { language, text } of blocks) {
    if (language === "json") expect(() => JSON.parse(text) as unknown).not.toThrow();
  }
});

describe("what a user may meet is on a page", () => {
  const pages = readPages();
  const {
    "docs/errors.md": errors,
    "docs/logging.md": logging,
    "docs/strict.md": strict,
    "docs/http.md": http,
    "docs/library.md": library,
  } = pages;

  test.each(readUnion("src/errors.ts", "ProxyErrorCode"))("the error %s", (code) => {
    expect(errors).toContain(`\`${code}\``);
  });

  test.each(readUnion("src/errors.ts", "ProxyErrorCode"))("where the library throws %s", (code) => {
    expect(library).toContain(`\`${code}\``);
  });

  const proxy = readFileSync(join(root, "src/proxy/proxy-options.ts"), "utf8");
  test.each(["ProxyOptions", "ListenSettings", "Proxy"])("every member of %s of the library", (name) => {
    const body = proxy.slice(proxy.indexOf(`interface ${name} {`));
    const members = [...body.slice(0, body.indexOf("\n}")).matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)];
    expect(members.length).toBeGreaterThan(5);
    for (const [, member] of members) expect(library).toMatch(new RegExp(`\`(?:proxy\\.)?${member}[\`(]`));
  });

  test.each(Object.keys(FAULTS))("the fault %s", (fault) => expect(strict).toContain(`| \`${fault}\``));

  test.each(readUnion("src/session/turn.ts", "Trouble"))("the trouble %s", (trouble) => {
    expect(strict).toContain(`| \`${trouble}\``);
  });

  test.each(readUnion("src/session/turn.ts", "Remark"))("the note %s", (note) => {
    expect(logging).toContain(`| \`${note}\``);
  });

  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const sources = files.map((name) => readFileSync(join(root, "src", name), "utf8"));
  const find = (pattern: RegExp): string[] => [
    ...new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, found]) => found))),
  ];

  test("rules of HTTP and of its older transport", () => {
    const names = find(/"((?:http|sse):[a-z-]+)"/g);
    expect(names).toEqual(expect.arrayContaining(["http:host", "http:no-server", "sse:endpoint"]));
    for (const name of names) expect(http).toMatch(new RegExp(`^\\|[^|]*\`${name}\``, "m"));
  });

  test("the status of every refusal by HTTP", () => {
    const statuses = find(
      /(?:turnAway\(|reply(?:Error|Json|Empty)\((?:visit\.)?response, |statusOf[^]*?return )([45]\d\d)\b/g,
    );
    expect(statuses).toEqual(
      expect.arrayContaining(["400", "403", "404", "405", "406", "409", "413", "415", "502", "503"]),
    );
    for (const status of statuses) expect(http).toContain(`\n| ${status} `);
  });

  test("what a client hears inside the protocol", () => {
    const speaks = /^(?:bridge\/answers|relay\/passage|policy\/\w+)\.ts$/;
    const messages = files.flatMap((name, index) =>
      speaks.test(name.replaceAll("\\", "/"))
        ? [...sources[index].matchAll(/message: ["`]([^"`]+)["`]/g)].map(([, message]) => message)
        : [],
    );
    expect(messages).toEqual(expect.arrayContaining(["Connection closed", "Internal proxy error"]));
    // As far as it is the same for all.
    for (const message of messages) expect(errors).toContain(`| \`${message.split(/\$\{|(?<=: )/)[0]}`);
  });

  test("rules and notes that are named elsewhere", () => {
    const names = sources.flatMap((text) =>
      [...text.matchAll(/"((?:tools|wire):[a-z-]+|session:(?:withdrawn|gone))"|note: "([a-z-]+)"|RULE = "(\w+)"/g)].map(
        ([, rule, note, tools]) => rule ?? note ?? tools,
      ),
    );
    expect(names).toEqual(expect.arrayContaining(["tools:no-list", "wire:half-line", "odd-text", "tools"]));
    for (const name of new Set(names)) expect(logging).toContain(`| \`${name}\``);
  });

  const clauses = [...readKeys(POLICY.schema()), ...readKeys(ANY_CONDITION.schema()), ...readKeys(ANY_ACTION.schema())];
  test.each([...new Set(clauses)])("the key %s of a policy file", (key) => {
    expect(pages["docs/policy.md"]).toMatch(new RegExp(`[\`.]${key}\``));
  });

  const options = new Set(COMMANDS.flatMap((command) => command.options.map(({ name }) => name)));
  test.each([...options])("the option --%s", (name) => {
    expect(Object.values(pages).join("\n")).toMatch(new RegExp(`--${name}(?![\\w-])`));
  });
});

/** The keys that a schema knows, and those in them, except of what is for later versions. */
function readKeys(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {} } = schema as { properties?: Record<string, { description?: string }> };
  const isHere = (key: string): boolean => properties[key].description?.endsWith("Not in this version yet.") !== true;
  const own = Object.keys(properties);
  const inner = own.filter(isHere).flatMap((key) => readKeys(properties[key]));
  const { anyOf = [], items = null } = schema as { anyOf?: unknown[]; items?: unknown };
  return [...own, ...inner, ...anyOf.flatMap(readKeys), ...readKeys(items)];
}

test("the comparison notices a difference", () => {
  expect(isShown("a\n…\nc\n", "a\nb\nb\nc\n")).toBe(true);
  expect(isShown("a\n…\nc\n", "a\nb\nd\n")).toBe(false);
  expect(isShown("a 1\n", "a 2\n")).toBe(false);
});
