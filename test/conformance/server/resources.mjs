import { ResourceTemplate } from "@modelcontextprotocol/server";
import { PIXEL } from "./samples.mjs";

/** Adds the resources: text, bytes, a template, and one to subscribe to. */
export function addResources(server) {
  add("static-text", "test://static-text", "text/plain", { text: "This is the content of the static text resource." });
  add("static-binary", "test://static-binary", "image/png", { blob: PIXEL });
  add("watched-resource", "test://watched-resource", "text/plain", { text: "Watched resource content" });

  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, { mimeType: "application/json" }, (uri, { id }) => {
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri: uri.href, mimeType: "application/json", text }] };
  });

  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));

  function add(name, uri, mimeType, content) {
    server.registerResource(name, uri, { mimeType }, () => ({ contents: [{ uri, mimeType, ...content }] }));
  }
}
