import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { says, text } from "./samples.mjs";

/**
 * Seals what a request leaves for the one that follows it. The state comes back from the client, so it is only
 * believed with our seal on it; the server checks that before a tool sees it.
 */
export const requestState = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)) });

const ASK_NAME = form("What is your name?", { name: { type: "string" } });
const ASK_CONFIRMATION = form("Please confirm", { ok: { type: "boolean" } });
const ASK_GREETING = sample("Generate a greeting");

/** Tools of the newer era, which answer with what they still need and are called again with it. */
export const roundTools = [
  tool("test_input_required_result_elicitation", "Asks the user's name", ({ inputResponses }) => {
    const name = acceptedContent(inputResponses, "user_name")?.name;
    if (typeof name !== "string") return inputRequired({ inputRequests: { user_name: ASK_NAME } });
    return says(`Hello, ${name}!`);
  }),
  tool("test_input_required_result_sampling", "Asks the client's model", ({ inputResponses }) => {
    const answer = inputResponses?.capital_question;
    if (answer !== undefined) return says(`Sampling response: ${answer.content.text}`);
    return inputRequired({ inputRequests: { capital_question: sample("What is the capital of France?") } });
  }),
  tool("test_input_required_result_list_roots", "Asks for the client's roots", ({ inputResponses }) => {
    const roots = inputResponses?.client_roots?.roots;
    if (!Array.isArray(roots)) return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    return says(`Roots: ${roots.map(({ uri }) => uri).join(", ")}`);
  }),
  tool("test_input_required_result_request_state", "Asks, and wants its state back", async (request) => {
    if (acceptedContent(request.inputResponses, "confirm") === undefined) return confirmWithState();
    if (request.requestState() === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "No state");
    return says("state-ok");
  }),
  tool("test_input_required_result_tampered_state", "Asks, and refuses a state it did not write", async (request) => {
    const confirmed = acceptedContent(request.inputResponses, "confirm") !== undefined;
    return confirmed && request.requestState() !== undefined ? says("integrity-ok") : confirmWithState();
  }),
  tool("test_input_required_result_multiple_inputs", "Asks three things at once", async ({ inputResponses }) => {
    const name = acceptedContent(inputResponses, "user_name")?.name;
    const greeting = inputResponses?.greeting?.content?.text;
    const roots = inputResponses?.client_roots?.roots;
    if (typeof name === "string" && typeof greeting === "string" && Array.isArray(roots)) {
      return says(`${greeting} ${name}, with ${roots.length} roots`);
    }
    return inputRequired({
      inputRequests: { user_name: ASK_NAME, greeting: ASK_GREETING, client_roots: inputRequired.listRoots() },
      requestState: await seal({}),
    });
  }),
  tool("test_input_required_result_multi_round", "Asks twice, and counts in its state", async (request) => {
    const state = request.requestState() ?? { round: 0 };
    if (state.round === 0) {
      return inputRequired({ inputRequests: { step1: ASK_NAME }, requestState: await seal({ round: 1 }) });
    }
    if (state.round === 1) {
      const name = acceptedContent(request.inputResponses, "step1")?.name;
      const step2 = form("What is your favorite color?", { color: { type: "string" } });
      return inputRequired({ inputRequests: { step2 }, requestState: await seal({ round: 2, name }) });
    }
    const answer = acceptedContent(request.inputResponses, "step2");
    return says(`${state.name} likes ${String(answer?.color)}`);
  }),
  tool("test_input_required_result_capabilities", "Asks only what the client said it can answer", (request) => {
    if (request.inputResponses !== undefined) return says("Answered");
    const can = request.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
    const inputRequests = {
      ...(can.elicitation && { user_name: ASK_NAME }),
      ...(can.sampling && { greeting: ASK_GREETING }),
      ...(can.roots && { client_roots: inputRequired.listRoots() }),
    };
    return Object.keys(inputRequests).length === 0 ? says("Nothing to ask") : inputRequired({ inputRequests });
  }),
  tool(
    "test_missing_capability",
    "Asks the client's model, whether or not it said it has one",
    ({ inputResponses }) => {
      if (inputResponses?.answer !== undefined) return says("Answered");
      return inputRequired({ inputRequests: { answer: sample("Reply with the single word: pong") } });
    },
  ),
];

async function confirmWithState() {
  return inputRequired({ inputRequests: { confirm: ASK_CONFIRMATION }, requestState: await seal({}) });
}

// The nonce makes every state another, so that an old one cannot pass for a new one.
function seal(state) {
  return requestState.mint({ ...state, nonce: crypto.randomUUID() });
}

function tool(name, description, run) {
  return { name, description, inputSchema: z.object({}), run: (_, { mcpReq }) => run(mcpReq) };
}

function form(message, properties) {
  const requestedSchema = { type: "object", properties, required: Object.keys(properties) };
  return inputRequired.elicit({ message, requestedSchema });
}

function sample(words) {
  return inputRequired.createMessage({ messages: [{ role: "user", content: text(words) }], maxTokens: 100 });
}
