import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { says } from "./samples.mjs";

const nothing = z.object({});

/** Tools that say something before their result, or on the stream of another request. */
export function streamTools(publish) {
  return [
    {
      name: "test_tool_with_logging",
      description: "Writes three log messages while it works",
      inputSchema: nothing,
      async run(_, { mcpReq }) {
        for (const step of ["started", "processing data", "completed"]) {
          await mcpReq.log("info", `Tool execution ${step}`);
          await sleep(20);
        }
        return says("Tool with logging executed successfully");
      },
    },
    {
      name: "test_logging_tool",
      description: "Writes a log message, which leaves only where the request asked for a log level",
      inputSchema: nothing,
      async run(_, { mcpReq }) {
        await mcpReq.log("info", "test_logging_tool ran");
        return says("logged");
      },
    },
    {
      name: "test_tool_with_progress",
      description: "Reports its progress three times, if it was asked to",
      inputSchema: nothing,
      async run(_, { mcpReq }) {
        const progressToken = mcpReq["_meta"]?.progressToken;
        if (progressToken === undefined) return says("no progress token");
        for (const progress of [0, 50, 100]) {
          const params = { progressToken, progress, total: 100, message: `Completed ${progress} of 100` };
          await mcpReq.notify({ method: "notifications/progress", params });
          await sleep(20);
        }
        return says(String(progressToken));
      },
    },
    {
      name: "test_reconnection",
      description: "Closes the stream it is called on and leaves its result for the next one",
      inputSchema: nothing,
      async run(_, { http }) {
        http?.closeSSE?.();
        await sleep(100);
        return says("The client came back for this.");
      },
    },
    {
      name: "test_streaming_elicitation",
      description: "Answers on a stream that carries no request of the server",
      inputSchema: nothing,
      run: () => says("Nothing was asked."),
    },
    {
      name: "test_trigger_tool_change",
      description: "Tells those who listen that the tools have changed",
      inputSchema: nothing,
      run() {
        publish("toolsChanged");
        return says("published");
      },
    },
    {
      name: "test_trigger_prompt_change",
      description: "Tells those who listen that the prompts have changed",
      inputSchema: nothing,
      run() {
        publish("promptsChanged");
        return says("published");
      },
    },
  ];
}
