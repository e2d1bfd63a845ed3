import { acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { z } from "zod";
import { PIXEL, text } from "./samples.mjs";

/** Adds the prompts: plain, with arguments, with a resource, with a picture, and one that asks first. */
export function addPrompts(server) {
  server.registerPrompt("test_simple_prompt", { description: "Takes no arguments" }, () =>
    messages(text("This is a simple prompt for testing.")),
  );

  const two = z.object({ arg1: z.string().describe("The first"), arg2: z.string().describe("The second") });
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "Takes two arguments", argsSchema: two },
    ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );

  const one = z.object({ resourceUri: z.string().describe("The resource") });
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "Has a resource in it", argsSchema: one },
    ({ resourceUri }) => {
      const resource = { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." };
      return messages({ type: "resource", resource }, text("Please process the embedded resource above."));
    },
  );

  server.registerPrompt("test_prompt_with_image", { description: "Has a picture in it" }, () =>
    messages({ type: "image", data: PIXEL, mimeType: "image/png" }, text("Please analyze the image above.")),
  );

  server.registerPrompt(
    "test_input_required_result_prompt",
    { description: "Asks before it answers" },
    ({ mcpReq }) => {
      const context = acceptedContent(mcpReq.inputResponses, "user_context")?.context;
      if (typeof context === "string") return messages(text(`Use the following context: ${context}`));
      const requestedSchema = { type: "object", properties: { context: { type: "string" } }, required: ["context"] };
      const user_context = inputRequired.elicit({ message: "What context should the prompt use?", requestedSchema });
      return inputRequired({ inputRequests: { user_context } });
    },
  );
}

function messages(...contents) {
  return { messages: contents.map((content) => ({ role: "user", content })) };
}
