import { CLIENT_CAPABILITIES_META_KEY } from "@modelcontextprotocol/server";
import { taskTools } from "./task-tools.mjs";
import { createTasks } from "./tasks.mjs";

/** The extension's name, in the capabilities of both sides. */
export const TASKS = "io.modelcontextprotocol/tasks";

const tools = new Map(taskTools.map((tool) => [tool.name, tool]));

/**
 * The tasks extension, which the SDK does not have. Stands before the SDK's handler and answers the requests that
 * are about tasks: `{ status, reply }`, or null for all others.
 */
export function createTaskDoor() {
  const tasks = createTasks();

  return function answer({ headers }, { id, method, params = {} }) {
    const tool = method === "tools/call" ? tools.get(params.name) : undefined;
    const isOurs = tool !== undefined || ["tasks/get", "tasks/update", "tasks/cancel"].includes(method);
    if (!isOurs) return null;

    const name = tool === undefined ? params.taskId : params.name;
    if (headers["mcp-method"] !== method || headers["mcp-name"] !== name) {
      return refuse(400, -32020, "The headers Mcp-Method and Mcp-Name do not agree with the body");
    }
    const declared = params["_meta"]?.[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[TASKS] !== undefined;
    if (!declared && (tool === undefined || tool.required)) {
      const requiredCapabilities = { extensions: { [TASKS]: {} } };
      return refuse(400, -32021, "The client does not have tasks", { requiredCapabilities });
    }
    if (tool !== undefined) {
      if (!declared || tool.isTask?.(params) === false) return null;
      const { inputResponses, arguments: args = {} } = params;
      return reply({ resultType: "task", ...tasks.create((means) => tool.work(args, { ...means, inputResponses })) });
    }
    return answerTask(params);

    function answerTask({ taskId, inputResponses }) {
      const task = tasks.get(taskId);
      if (task === undefined) return refuse(200, -32602, "There is no such task");
      if (method === "tasks/get") return reply({ resultType: "complete", ...task });
      if (method === "tasks/update") tasks.update(taskId, inputResponses);
      else tasks.cancel(taskId);
      return reply({ resultType: "complete" });
    }

    function reply(result) {
      return { status: 200, reply: { jsonrpc: "2.0", id, result } };
    }

    function refuse(status, code, message, data) {
      return { status, reply: { jsonrpc: "2.0", id, error: { code, message, data } } };
    }
  };
}
