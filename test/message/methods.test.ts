import { expect, test } from "vitest";
import { describeMethod, findMethod } from "../../src/message/methods.ts";
import { mayBeSent } from "../fuzz/profile.ts";

// Methods of the specification, by who may send them.
const CLIENT = ["initialize", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/get"];
const SERVER = ["sampling/createMessage", "elicitation/create", "roots/list", "notifications/tools/list_changed"];
const BOTH = ["ping", "tasks/get", "tasks/cancel", "notifications/cancelled", "notifications/progress"];

function find(name: string) {
  const bytes = Buffer.from(`"${name}"`);
  return findMethod(bytes, 1, bytes.length - 1);
}

test.each([...CLIENT, ...SERVER, ...BOTH])("%s is known by its bytes and by its text, and is the same", (name) => {
  const described = describeMethod(name);
  expect(described?.name).toBe(name);
  // The second of two that share a place in the index is found by its text only.
  expect([undefined, described]).toContain(find(name));
});

test.each([
  ["client", CLIENT],
  ["server", SERVER],
  ["both", BOTH],
] as const)("who may send it is known: %s", (sender, names) => {
  for (const name of names) {
    expect(describeMethod(name)?.sender).toBe(sender);
    const form = describeMethod(name)?.form === "request" ? "request" : "notification";
    expect([mayBeSent(name, "up", form), mayBeSent(name, "down", form)]).toEqual([
      sender !== "server",
      sender !== "client",
    ]);
  }
});

test("what is not known is passed over in the audit log only where it is a notification by its name and has no id", () => {
  expect(describeMethod("notifications/x", false)?.class).toBe("pass");
  expect(describeMethod("notifications/x", true)?.class).toBe("log");
  expect(describeMethod("vendor/x", false)?.class).toBe("log");
});

test.each([
  "Tools/Call",
  "tools/call ",
  "\ttools/call",
  "ｔools/call",
  "tools\u200b/call",
  "TOOLS/LIST",
  "toolſ/call",
  "INITIALIZE",
])("%j might be taken for a method that is known, and is none", (name) => {
  expect(describeMethod(name)).toBeNull();
  expect(find(name)).toBeUndefined();
});

test.each(["vendor/custom", "tools/call2", "tools/calls", "notifications/x", "", "constructor", "__proto__", "tools"])(
  "%j is nobody's, and may be sent by both",
  (name) => {
    expect(describeMethod(name)).toMatchObject({ name, sender: "both", form: "either", subject: null });
    expect(find(name)).toBeUndefined();
  },
);
