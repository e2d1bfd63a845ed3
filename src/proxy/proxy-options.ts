import type { PolicySettings } from "../config/settings.ts";
import type { GateOptions } from "../link/http/gate.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { AuditEvent } from "../record/event.ts";
import type { Log } from "../record/log/log.ts";
import type { Interceptor } from "../rules/interceptors/interceptor.ts";
import type { UpstreamConnection } from "./connection.ts";
import type { ClientStreams, ConversationEnd } from "./conversation.ts";
import type { ProxyObserver } from "./happenings.ts";
import type { Limits, Timeouts } from "./limits.ts";
import type { ProxyConfig, SessionStatistics } from "./model.ts";
import type { NameOptions } from "./names.ts";

/** The options of `createProxy`: the server, the client side, and the policy. */
export interface ProxyOptions {
  /** The server: a program and its arguments. Give this or `upstream`. */
  readonly command?: readonly string[];
  /** The URL of the server. */
  readonly upstream?: string;
  /** Sent with every request to a server at a URL. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The path of a PEM file with certificates to trust in addition to the usual ones. */
  readonly ca?: string;
  /**
   * What to do when the server at the URL is lost: end, or answer with errors until it is back. The default is `exit`.
   */
  readonly onLoss?: "exit" | "keep";
  /** The directory for the tokens of logins. Without it, or with null, the proxy does not log in. */
  readonly loginDirectory?: string | null;
  /** The client version that the server is told. */
  readonly version?: string;
  /** Where clients connect by HTTP. Without it there is one client, on `client`. */
  readonly listen?: ListenSettings;
  /** Environment variables for the server, in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The directory in which the server starts. */
  readonly cwd?: string | undefined;
  /**
   * `deny` hides the tools that match; `allow` hides all tools that do not match. Without both, there is no tool
   * filter.
   */
  readonly deny?: readonly (Pattern | string)[];
  readonly allow?: readonly (Pattern | string)[];
  /** Further filters by name: for prompts and resources, and settings of the tool filter. */
  readonly names?: NameOptions;
  /** The streams of the client. The default is stdin and stdout of this process. */
  readonly client?: ClientStreams;
  /** The log for people. The default writes warnings to stderr; null means no log. */
  readonly log?: Log | null;
  /** Called with an event for each message that the audit log would record. */
  readonly audit?: ((event: AuditEvent) => void) | null;
  /** Whether `audit` is also called for messages that simply pass, and for responses. */
  readonly auditAll?: boolean;
  /** Functions that are called when something happens: sessions, judged messages, problems, counts, other policies. */
  readonly observers?: readonly ProxyObserver[];
  readonly limits?: Partial<Limits>;
  readonly timeouts?: Partial<Timeouts>;
  /**
   * `lists` checks only tool lists. `results` checks that every result of an MCP method has the form that the revision
   * defines, and that structured content fits the output schema of its tool. The default is `lists`.
   */
  readonly validate?: "lists" | "results";
  /**
   * Judges and audits messages, but refuses only those that cannot be read reliably. Shows what the policy would do.
   */
  readonly observe?: boolean;
  /** Interceptors of your program. They run after everything in the policy. */
  readonly interceptors?: readonly Interceptor[];
  /** The settings of a policy file: its rules, its filters, and settings that have no option here. */
  readonly policy?: PolicySettings;
  /** The folder of that policy file. */
  readonly policyFolder?: string;
}

/** Where clients connect by HTTP, and who may connect. */
export interface ListenSettings {
  /** The port; 0 for any free port. */
  readonly port: number;
  /** The address. The default is 127.0.0.1, which only this machine can reach. */
  readonly host?: string;
  /** Certificate and key as PEM texts, for https. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Further names that are allowed in the Host header. */
  readonly hosts?: readonly string[];
  /** The origins of web pages that may send requests. */
  readonly origins?: readonly string[];
  /** Who may connect: clients with one of these tokens, or with a token that an issuer signed. */
  readonly auth?: GateOptions;
  /**
   * The header in which a reverse proxy names the client. The reverse proxy must remove what clients send under that name.
   * Rules keep their counts and state by this name, unless `auth` is set.
   */
  readonly identityHeader?: string;
  /** Allows an address that other machines can reach, without `auth`. */
  readonly insecureBind?: boolean;
}

/** A running proxy. */
export interface Proxy {
  /** Resolves when the proxy has ended and no process of the server is left. */
  readonly ended: Promise<ConversationEnd>;
  /** Ends the proxy: the first call lets the server shut down, a second call ends everything at once. */
  stop(): void;
  /**
   * For the exit of your program: answers open requests with an error and kills all processes it started,
   * synchronously.
   */
  abandon(): void;
  /** Replaces the policy. If the new policy cannot be used, this rejects and the old policy stays. */
  reload(policy: PolicySettings): Promise<void>;
  /** The version of the current policy, as in the audit log: a short hash of its content. */
  readonly policyVersion: string;
  /**
   * The counts of the sessions that rules have state for. Without a policy or an interceptor nothing is counted, and the
   * list is empty.
   */
  sessions(): readonly SessionStatistics[];
  /** The URL where clients connect by HTTP; null without `listen`. */
  readonly url: string | null;
  /** The current state of the connection to the server. */
  readonly connection: UpstreamConnection;
  /** The configuration, if the server is at a URL; otherwise null. The object is deeply frozen. */
  readonly config: ProxyConfig | null;
}
