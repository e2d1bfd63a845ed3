import { expect, test } from "vitest";
import { openMessage, whole } from "../../src/message/message.ts";
import { callAgrees, composeParamHeaders } from "../../src/session/param-headers.ts";

const TOOL = {
  name: "query",
  raw: Buffer.from(
    JSON.stringify({
      name: "query",
      inputSchema: {
        type: "object",
        properties: {
          region: { type: "string", "x-mcp-header": "Region" },
          limit: { type: "integer", "x-mcp-header": "Limit" },
          deep: { type: "object", properties: { dry: { type: "boolean", "x-mcp-header": "Dry" } } },
          plain: { type: "string" },
        },
      },
    }),
  ),
};

function call(args: object, name = "query") {
  const message = openMessage(
    whole(
      Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } })),
    ),
    "up",
    "allow",
  );
  if (message.envelope.kind !== "request") throw new Error("no request");
  return { message, envelope: message.envelope };
}

test.for([
  ["the same", { region: "eu" }, [["mcp-param-region", "eu"]], true],
  ["in base64", { region: "süd" }, [["mcp-param-region", "=?base64?c8O8ZA==?="]], true],
  ["a number by its value", { limit: 10 }, [["mcp-param-limit", "10.0"]], true],
  ["deeper", { deep: { dry: true } }, [["mcp-param-dry", "true"]], true],
  ["one that the tool does not know", { plain: "x" }, [["mcp-param-other", "y"]], true],
  ["another value", { region: "eu" }, [["mcp-param-region", "us"]], false],
  ["none", { region: "eu" }, [], false],
  ["one without an argument", {}, [["mcp-param-region", "eu"]], false],
  ["another number", { limit: 10 }, [["mcp-param-limit", "11"]], false],
  ["no number", { limit: 0 }, [["mcp-param-limit", " "]], false],
  ["what is no base64", { region: "a" }, [["mcp-param-region", "=?base64?YQ?="]], false],
] as const)("a header for an argument: %s", ([, args, headers, isRight]) => {
  const { message, envelope } = call(args);
  expect(callAgrees(message, envelope, headers, [TOOL])).toBe(isRight);
});

test("of a tool that is not known, nothing can be said", () => {
  const { message, envelope } = call({ region: "eu" }, "other");
  expect(callAgrees(message, envelope, [["mcp-param-region", "us"]], [TOOL])).toBe(true);
});

test("what is composed agrees", () => {
  const text = '{"region":"süd","limit":3,"deep":{"dry":false},"plain":"x"}';
  const bytes = Buffer.from(text);
  const lines = composeParamHeaders(TOOL.raw, bytes, { start: 0, end: bytes.length });
  expect(lines).toBe("Mcp-Param-Region: =?base64?c8O8ZA==?=\r\nMcp-Param-Limit: 3\r\nMcp-Param-Dry: false\r\n");
});
