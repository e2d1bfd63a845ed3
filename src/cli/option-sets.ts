import { LEVELS } from "../record/log/log.ts";
import type { Option } from "./command-line.ts";

/** The help option, which every command has. */
export const HELP: Option = { name: "help", value: null, help: "show this help" };

/** The option for the policy file. */
export const CONFIG: Option = {
  name: "config",
  value: "<file>",
  help: "a policy file (YAML): rules, the server, and all that is set here; options win over it",
};

/** The option to report what the policy would do, without doing it. */
export const OBSERVE: Option = {
  name: "observe",
  value: null,
  help: "judge and record everything, act on nothing: what the policy would do",
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
    help: "show only tools that match any of these; --deny still wins",
  },
];

/** The option for the lock file. */
export const PIN: Option = {
  name: "pin",
  value: "<file>",
  help: "the lock file that remembers how tools are described: one that is new or has changed is hidden",
};

/** The options for a server at a URL. */
export const REMOTE: readonly Option[] = [
  { name: "upstream", value: "<url>", help: "the server is at this URL, instead of a command" },
  {
    name: "header",
    value: "'Name: value'",
    repeats: true,
    help: "sent to the server with every request; $VAR and ${VAR} are filled in",
    needs: "upstream",
  },
  { name: "ca", value: "<file>", help: "certificates to trust beside the usual ones (PEM)", needs: "upstream" },
  {
    name: "connect-timeout",
    value: "<time>",
    help: "how long reaching the server may take",
    fallback: "30s",
    needs: "upstream",
  },
];

/** The options for clients that connect by HTTP. */
export const LISTEN: readonly Option[] = [
  {
    name: "listen",
    value: "[host:]port",
    help: "clients come by HTTP: /mcp, and /sse for older ones; without it, on our stdin and stdout",
  },
  { name: "tls-cert", value: "<file>", help: "clients come by https: the certificate (PEM)", needs: "listen" },
  { name: "tls-key", value: "<file>", help: "and its key", needs: "listen" },
  { name: "allow-host", value: "<name>", repeats: true, help: "another name we go by", needs: "listen" },
  {
    name: "allow-origin",
    value: "<origin>",
    repeats: true,
    help: "pages from there may speak to us, such as https://example.com",
    needs: "listen",
  },
  { name: "auth-tokens", value: "<file>", help: "only clients with one of these tokens", needs: "listen" },
  { name: "auth-jwks", value: "<url>", help: "only clients with a JWT signed by one of these keys", needs: "listen" },
  { name: "auth-issuer", value: "<url>", help: "whose tokens they are", needs: "auth-jwks" },
  { name: "auth-audience", value: "<text>", help: "for whom they are", needs: "auth-jwks" },
  {
    name: "insecure-bind",
    value: null,
    help: "listen beyond this machine without asking who comes",
    needs: "listen",
  },
  {
    name: "on-loss",
    value: "<what>",
    choices: ["exit", "keep"],
    help: "when the server at the URL is gone: end, or answer with errors until it is back",
    fallback: "exit",
    needs: "upstream",
  },
];

/** The options for a server that is a child process. */
export const CHILD: readonly Option[] = [
  { name: "env", value: "NAME=value", repeats: true, help: "a variable for the server's environment" },
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
  { name: "log-level", value: "<level>", choices: LEVELS, help: "how much is logged on stderr", fallback: "info" },
  { name: "log-format", value: "<format>", choices: ["text", "json"], help: "how it is written", fallback: "text" },
  { name: "log-file", value: "<file>", help: "write the log, and errors, to this file as well" },
];
