import { setTimeout as sleep } from "node:timers/promises";
import { ProtocolError, ProtocolErrorCode, acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { z } from "zod";
import { says } from "./samples.mjs";

const nothing = z.looseObject({});

/**
 * Tools that can take long. `work` does it, with `ask` to get answers from the client, which only a task can wait for,
 * and a signal that ends it. A tool that is `required` to be a task cannot be called otherwise.
 */
export const taskTools = [
  {
    name: "slow_compute",
    description: "Takes as many seconds as it is told",
    inputSchema: z.looseObject({ seconds: z.number() }),
    async work({ seconds }, { signal }) {
      await sleep(seconds * 1000, undefined, { signal });
      return says(`Computed for ${seconds} seconds`);
    },
  },
  {
    name: "failing_job",
    description: "Fails as a tool does",
    inputSchema: nothing,
    required: true,
    async work(_, { signal }) {
      await sleep(500, undefined, { signal });
      return { ...says("The job failed"), isError: true };
    },
  },
  {
    name: "protocol_error_job",
    description: "Fails as a server does",
    inputSchema: nothing,
    async work() {
      throw new ProtocolError(ProtocolErrorCode.InternalError, "The job broke");
    },
  },
  {
    name: "confirm_delete",
    description: "Asks before it deletes",
    inputSchema: nothing,
    async work(_, { ask }) {
      const { confirm } = await ask({ confirm: form("Delete it?", { confirm: { type: "boolean" } }) });
      return says(`Asked to delete it: ${confirm.action}`);
    },
  },
  {
    name: "multi_input",
    description: "Asks two things at once",
    inputSchema: nothing,
    async work(_, { ask }) {
      const { name, color } = await ask({
        name: form("What is your name?", { name: { type: "string" } }),
        color: form("What is your favorite color?", { color: { type: "string" } }),
      });
      return says(`Told the name (${name.action}) and the color (${color.action})`);
    },
  },
  {
    name: "test_tool_with_task",
    description: "Asks first, and becomes a task once it knows",
    inputSchema: nothing,
    required: true,
    // The first round is a plain call, which asks back.
    run: () =>
      inputRequired({ inputRequests: { user_name: form("What is your name?", { name: { type: "string" } }) } }),
    isTask: ({ inputResponses }) => inputResponses !== undefined,
    async work(_, { inputResponses }) {
      return says(`Hello, ${String(acceptedContent(inputResponses, "user_name")?.name)}!`);
    },
  },
];

function form(message, properties) {
  const requestedSchema = { type: "object", properties, required: Object.keys(properties) };
  return inputRequired.elicit({ message, requestedSchema });
}
