import type { Paint } from "./output.ts";

/** What is needed to tell a person how to configure a client. */
export interface PasteOptions {
  /** The URL on which clients connect. */
  readonly url: string;
  /** Allowed host names in addition to those of this machine. */
  readonly hosts: readonly string[];
  /** Whether clients need a token. */
  readonly asksForToken: boolean;
}

/** Lines to paste into the configuration of a client, printed on the terminal on which Fairlead was started. */
export function composePaste({ url, hosts, asksForToken }: PasteOptions, paint: Paint): string {
  const place = nameable(url, hosts[0]);
  const entry = {
    type: "http",
    url: place,
    ...(asksForToken ? { headers: { Authorization: "Bearer <your token>" } } : {}),
  };
  const header = asksForToken ? ` --header "Authorization: Bearer <your token>"` : "";
  const forms = [
    ["Claude Code", `claude mcp add --transport http fairlead ${place}${header}`],
    ["VS Code", JSON.stringify({ servers: { fairlead: entry } })],
    ["others", JSON.stringify({ mcpServers: { fairlead: entry } })],
  ];
  const lines = forms.map(([client, form]) => `  ${client.padEnd("Claude Code".length)}  ${paint("cyan", form)}\n`);
  return `${paint("bold", "To use it, paste one of these into a client:")}\n${lines.join("")}`;
}

/** The URL with a host that a client can connect to: the wildcard addresses 0.0.0.0 and [::] are replaced. */
function nameable(url: string, host: string | undefined): string {
  const parsed = new URL(url);
  const isAny = parsed.hostname === "0.0.0.0" || parsed.hostname === "[::]";
  if (host === undefined && !isAny) return url;
  parsed.hostname = (host ?? "127.0.0.1").replace(/:\d+$/, "");
  return parsed.href;
}
