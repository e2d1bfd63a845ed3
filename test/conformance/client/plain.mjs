import { context, converse, converseUnasked, createClient } from "./connect.mjs";

/** The scenarios in which nobody has to log in. */
export const plainScenarios = [
  ["initialize", (url) => converse(url, (client) => client.listTools())],
  ["json-schema-ref-no-deref", (url) => converse(url, (client) => client.listTools())],
  ["tools_call", (url) => converse(url, (client) => call(client, "add_numbers", { a: 5, b: 3 }))],
  ["sse-retry", (url) => converse(url, (client) => call(client, "test_reconnection"))],
  ["request-metadata", requestMetadata],
  ["elicitation-sep1034-client-defaults", elicitationDefaults],
  ["json-schema-2020-12-preservation", schemaPreservation],
  ["http-standard-headers", (url) => converseUnasked(url, useEverything)],
  ["http-custom-headers", (url) => converseUnasked(url, callAsTold)],
  ["http-invalid-tool-headers", (url) => converseUnasked(url, callEverything)],
  ["sep-2322-client-request-state", requestState],
];

async function call(client, name, args = {}) {
  await client.listTools();
  await client.callTool({ name, arguments: args });
}

async function requestMetadata(url) {
  await converse(url, () => {}, createClient({ roots: { listChanged: true }, sampling: {}, elicitation: {} }));
}

// The answer is left empty: the SDK has to fill in the defaults of the form.
async function elicitationDefaults(url) {
  const client = createClient({ elicitation: { form: { applyDefaults: true } } });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
  await converse(url, () => call(client, "test_client_elicitation_defaults"), client);
}

// The schema goes back as it was seen, and the scenario compares.
async function schemaPreservation(url) {
  await converse(url, async (client) => {
    const { tools } = await client.listTools();
    const { inputSchema } = tools.find(({ name }) => name === "json_schema_2020_12_tool");
    await client.callTool({ name: "json_schema_echo", arguments: { schema: inputSchema } });
  });
}

async function useEverything(client) {
  const { tools } = await client.listTools();
  await client.callTool({ name: tools[0].name, arguments: {} });
  const { resources } = await client.listResources();
  await client.readResource({ uri: resources[0].uri });
  const { prompts } = await client.listPrompts();
  await client.getPrompt({ name: prompts[0].name, arguments: {} });
}

// The list comes first: it says which arguments are repeated in headers.
async function callAsTold(client) {
  await client.listTools();
  for (const { name, arguments: args } of context.toolCalls) await client.callTool({ name, arguments: args });
}

// Tools whose headers are invalid must be missing from the list by now.
async function callEverything(client) {
  const { tools } = await client.listTools();
  for (const { name } of tools) await client.callTool({ name, arguments: { region: "us-west1" } });
}

async function requestState(url) {
  const client = createClient({ elicitation: {} });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { confirmed: true } }));
  await converseUnasked(
    url,
    async () => {
      for (const name of ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated"]) {
        await client.callTool({ name, arguments: {} });
      }
      // A result that does not say what it is counts as broken: what matters is that it is not asked for again.
      await client.callTool({ name: "test_mrtr_no_result_type", arguments: {} }).catch(() => {});
    },
    client,
  );
}
