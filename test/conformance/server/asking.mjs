import { z } from "zod";
import { says, text } from "./samples.mjs";

/** Tools of the older era, which ask the client something while they work. */
export const askingTools = [
  {
    name: "test_sampling",
    description: "Asks the client's model",
    inputSchema: z.object({ prompt: z.string().describe("What to ask") }),
    async run({ prompt }, { mcpReq }) {
      const messages = [{ role: "user", content: text(prompt) }];
      const result = await mcpReq.send({ method: "sampling/createMessage", params: { messages, maxTokens: 100 } });
      return says(`LLM response: ${result.content.text}`);
    },
  },
  {
    name: "test_elicitation",
    description: "Asks the user",
    inputSchema: z.object({ message: z.string().describe("What to ask") }),
    run: ({ message }, context) =>
      elicit(context, message, {
        properties: { response: { type: "string", description: "The answer" } },
        required: ["response"],
      }),
  },
  {
    name: "test_elicitation_sep1034_defaults",
    description: "Asks the user with a form whose fields have defaults",
    inputSchema: z.object({}),
    run: (_, context) =>
      elicit(context, "Please review the form", {
        properties: {
          name: { type: "string", description: "Name", default: "John Doe" },
          age: { type: "integer", description: "Age", default: 30 },
          score: { type: "number", description: "Score", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", description: "Verified", default: true },
        },
        required: [],
      }),
  },
  {
    name: "test_elicitation_sep1330_enums",
    description: "Asks the user to choose, in each of the five ways a choice can be written",
    inputSchema: z.object({}),
    run: (_, context) =>
      elicit(context, "Please choose", {
        properties: {
          untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
          titledSingle: { type: "string", oneOf: titled("value", "Option") },
          legacyEnum: {
            type: "string",
            enum: ["opt1", "opt2", "opt3"],
            enumNames: ["Option One", "Option Two", "Option Three"],
          },
          untitledMulti: {
            type: "array",
            minItems: 1,
            maxItems: 3,
            items: { type: "string", enum: ["option1", "option2", "option3"] },
          },
          titledMulti: { type: "array", minItems: 1, maxItems: 3, items: { anyOf: titled("value", "Choice") } },
        },
        required: [],
      }),
  },
];

async function elicit({ mcpReq }, message, form) {
  const params = { message, requestedSchema: { type: "object", ...form } };
  const { action, content } = await mcpReq.send({ method: "elicitation/create", params });
  return says(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`);
}

function titled(value, title) {
  return ["First", "Second", "Third"].map((word, index) => ({
    const: `${value}${index + 1}`,
    title: `${word} ${title}`,
  }));
}
