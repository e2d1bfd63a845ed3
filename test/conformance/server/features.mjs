import { McpServer } from "@modelcontextprotocol/server";
import { askingTools } from "./asking.mjs";
import { contentTools } from "./content.mjs";
import { addPrompts } from "./prompts.mjs";
import { addResources } from "./resources.mjs";
import { requestState, roundTools } from "./rounds.mjs";
import { streamTools } from "./streams.mjs";
import { TASKS } from "./task-door.mjs";
import { taskTools } from "./task-tools.mjs";

/**
 * One server with everything the suites ask for. `publish` tells those who listen in the newer era that a list
 * has changed.
 */
export function createFeatures(publish) {
  const server = new McpServer(
    { name: "fairlead-conformance-server", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
        extensions: { [TASKS]: {} },
      },
      requestState: { verify: requestState.verify },
    },
  );
  for (const tool of [...contentTools, ...askingTools, ...roundTools, ...streamTools(publish), ...taskTools]) {
    addTool(server, tool);
  }
  addResources(server);
  addPrompts(server);
  server.server.setRequestHandler("completion/complete", ({ params }) => {
    const values = ["first", "second", "third"].map((word) => `${params.argument.value}${word}`);
    return { completion: { values, total: values.length, hasMore: false } };
  });
  return server;
}

// A tool without arguments is called back with the context alone. One that would be a task and is not, is done at once.
function addTool(server, { name, description, inputSchema, work, run = (args) => work(args, { ask: nobody }) }) {
  if (inputSchema === undefined) server.registerTool(name, { description }, (context) => run({}, context));
  else server.registerTool(name, { description, inputSchema }, run);
}

function nobody() {
  throw new Error("Only a task can wait for an answer.");
}
