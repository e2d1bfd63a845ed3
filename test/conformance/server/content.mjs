import { fromJsonSchema } from "@modelcontextprotocol/server";
import { z } from "zod";
import { PIXEL, SILENCE, says, text } from "./samples.mjs";

/** Tools that answer at once: every kind of content, an error, and schemas that must arrive as they were written. */
export const contentTools = [
  {
    name: "test_simple_text",
    description: "Answers with text",
    run: () => says("This is a simple text response for testing."),
  },
  {
    name: "greet",
    description: "Greets",
    inputSchema: z.looseObject({ name: z.string() }),
    run: ({ name }) => says(`Hello, ${name}!`),
  },
  {
    name: "test_image_content",
    description: "Answers with a picture",
    run: () => ({ content: [{ type: "image", data: PIXEL, mimeType: "image/png" }] }),
  },
  {
    name: "test_audio_content",
    description: "Answers with a sound",
    run: () => ({ content: [{ type: "audio", data: SILENCE, mimeType: "audio/wav" }] }),
  },
  {
    name: "test_embedded_resource",
    description: "Answers with a resource in the result",
    run: () => ({
      content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    }),
  },
  {
    name: "test_multiple_content_types",
    description: "Answers with text, a picture and a resource",
    run: () => ({
      content: [
        text("Multiple content types test:"),
        { type: "image", data: PIXEL, mimeType: "image/png" },
        embedded("test://mixed-content-resource", "application/json", JSON.stringify({ test: "data", value: 123 })),
      ],
    }),
  },
  {
    name: "test_error_handling",
    description: "Fails",
    run: () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
  },
  {
    name: "json_schema_2020_12_tool",
    description: "Has an input schema with many of the words of JSON Schema 2020-12",
    // Written as JSON, because a schema library would not emit these words.
    inputSchema: fromJsonSchema({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    }),
    run: (args) => says(`Called with ${JSON.stringify(args)}`),
  },
  {
    name: "test_x_mcp_header",
    description: "Has an argument that clients repeat in a header",
    inputSchema: fromJsonSchema({
      type: "object",
      properties: {
        region: { type: "string", description: "Repeated as Mcp-Param-Region", "x-mcp-header": "Region" },
        level: { type: "integer", description: "Not repeated" },
      },
    }),
    run: ({ region }) => says(`region=${region ?? "none"}`),
  },
];

function embedded(uri, mimeType, content) {
  return { type: "resource", resource: { uri, mimeType, text: content } };
}
