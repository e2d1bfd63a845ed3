import { LEVELS } from "../record/log/log.ts";
import type { Option } from "./command-line.ts";

/** The help option, which every command has. */
export const HELP: Option = { name: "help", value: null, help: "show this help" };

/** The option for the policy file. */
export const CONFIG: Option = {
  name: "config",
  value: "<file>",
  help: "a policy file (YAML): rules, the server, and every setting of this list; options override the file",
};

/** The option to report what the policy would do, without doing it. */
export const OBSERVE: Option = {
  name: "observe",
  value: null,
  help: "only record what the policy would do; do not refuse, change or hide anything",
};

/** The options that hide tools. */
export const FILTER: readonly Option[] = [
  {
    name: "deny",
    value: "<re,re,…>",
    repeats: true,
    help: "hide and refuse tools whose name matches any of these regular expressions",
  },
  {
    name: "allow",
    value: "<re,re,…>",
    repeats: true,
    help: "show only tools whose name matches any of these; --deny overrides --allow",
  },
];

/** The option for the lock file. */
export const PIN: Option = {
  name: "pin",
  value: "<file>",
  help: "the lock file with the accepted tool definitions; new or changed tools are hidden",
};

/** The options for a server at a URL. */
export const REMOTE: readonly Option[] = [
  { name: "upstream", value: "<url>", help: "connect to the server at this URL instead of starting a command" },
  {
    name: "header",
    value: "'Name: value'",
    repeats: true,
    help: "a header to send with every request; $VAR and ${VAR} are replaced by environment variables",
    needs: "upstream",
  },
  { name: "ca", value: "<file>", help: "additional certificates to trust (PEM)", needs: "upstream" },
  {
    name: "connect-timeout",
    value: "<time>",
    help: "how long connecting to the server may take",
    fallback: "30s",
    needs: "upstream",
  },
];

/** The options for clients that connect by HTTP. */
export const LISTEN: readonly Option[] = [
  {
    name: "listen",
    value: "[host:]port",
    help: "serve clients over HTTP: /mcp, and /sse for older clients; without it, one client on stdin and stdout",
  },
  { name: "tls-cert", value: "<file>", help: "serve clients over HTTPS with this certificate (PEM)", needs: "listen" },
  { name: "tls-key", value: "<file>", help: "the private key of the certificate (PEM)", needs: "listen" },
  {
    name: "allow-host",
    value: "<name>",
    repeats: true,
    help: "also accept requests whose Host header has this name",
    needs: "listen",
  },
  {
    name: "allow-origin",
    value: "<origin>",
    repeats: true,
    help: "let web pages of this origin send requests, such as https://example.com",
    needs: "listen",
  },
  {
    name: "auth-tokens",
    value: "<file>",
    help: "accept only clients that send one of the tokens in this file",
    needs: "listen",
  },
  {
    name: "auth-jwks",
    value: "<url>",
    help: "accept only clients that send a JWT signed with a key from this URL",
    needs: "listen",
  },
  { name: "auth-issuer", value: "<url>", help: "accept only JWTs of this issuer (iss)", needs: "auth-jwks" },
  { name: "auth-audience", value: "<text>", help: "accept only JWTs for this audience (aud)", needs: "auth-jwks" },
  {
    name: "insecure-bind",
    value: null,
    help: "listen on an address that other machines can reach, without authentication",
    needs: "listen",
  },
  {
    name: "on-loss",
    value: "<what>",
    choices: ["exit", "keep"],
    help: "what to do if the server at the URL is lost; keep answers with errors until it is back",
    fallback: "exit",
    needs: "upstream",
  },
];

/** The options for a server that is a child process. */
export const CHILD: readonly Option[] = [
  { name: "env", value: "NAME=value", repeats: true, help: "an environment variable for the server" },
  { name: "cwd", value: "<dir>", help: "the directory the server is started in" },
  {
    name: "tools-timeout",
    value: "<time>",
    help: "how long fetching the tool list may take: 500ms, 10s, 2m, 1h",
    fallback: "10s",
  },
];

/** The options for the log. */
export const LOG: readonly Option[] = [
  { name: "log-level", value: "<level>", choices: LEVELS, help: "how much to log on stderr", fallback: "info" },
  { name: "log-format", value: "<format>", choices: ["text", "json"], help: "the format of the log", fallback: "text" },
  { name: "log-file", value: "<file>", help: "also write the log and errors to this file" },
];
