import type { PolicySettings } from "../config/settings.ts";
import type { GateOptions } from "../link/http/gate.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { AuditEvent } from "../record/event.ts";
import type { Log } from "../record/log/log.ts";
import type { Interceptor } from "../rules/interceptors/interceptor.ts";
import type { UpstreamConnection } from "./connection.ts";
import type { ClientSide, ConversationEnd } from "./conversation.ts";
import type { Limits, Timeouts } from "./limits.ts";
import type { ProxyConfig, SessionStatistics } from "./model.ts";
import type { NameOptions } from "./names.ts";

/** What a proxy is made of: a server, a client side, and what decides. */
export interface ProxyOptions {
  /** The server: a program and its arguments, or else `upstream`. */
  readonly command?: readonly string[];
  /** The server's URL. */
  readonly upstream?: string;
  /** Sent with every request to a server at a URL. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A PEM file with certificates to trust beside the usual ones. */
  readonly ca?: string;
  /** What happens when the server at the URL is gone: we end, or answer with errors until it is back. */
  readonly onLoss?: "exit" | "keep";
  /** Where the tokens of logins are kept; null where nobody is to log in. Without it, nobody is. */
  readonly loginDirectory?: string | null;
  /** What servers are told of our version. */
  readonly version?: string;
  /** Clients come by HTTP, here. Without it, there is one, on `client`. */
  readonly listen?: ListenSettings;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** Tools to hide and refuse, and the only ones to show. Without either, lists and calls pass like all else. */
  readonly deny?: readonly (Pattern | string)[];
  readonly allow?: readonly (Pattern | string)[];
  /** What else is decided by name: prompts, resources. */
  readonly names?: NameOptions;
  /** Where the client is: our own stdin and stdout unless said otherwise. */
  readonly client?: ClientSide;
  /** The log for people: warnings on stderr, unless said otherwise; null for none. */
  readonly log?: Log | null;
  /** Takes what is to be audited. */
  readonly audit?: ((event: AuditEvent) => void) | null;
  readonly auditAll?: boolean;
  readonly limits?: Partial<Limits>;
  readonly timeouts?: Partial<Timeouts>;
  /**
   * What the server's answers are checked for: only that lists of tools are such, or that every result of a method of MCP is
   * what the revision says, and structured content what the tool's output schema says.
   */
  readonly validate?: "lists" | "results";
  /** Judges and counts, and acts on nothing but what cannot be read: what the policy would do. */
  readonly observe?: boolean;
  /** Interceptors of the program's own. They stand behind all that is in a policy. */
  readonly interceptors?: readonly Interceptor[];
  /** What a policy file says: its rules, its filters, and what is no option of its own. */
  readonly policy?: PolicySettings;
  /** Where that file is. */
  readonly policyFolder?: string;
}

/** Where clients come in by HTTP, and who may. */
export interface ListenSettings {
  readonly port: number;
  /** This machine only, unless said otherwise. */
  readonly host?: string;
  /** PEM texts, for https. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Names we go by beside those we know of, and origins of pages that may speak to us. */
  readonly hosts?: readonly string[];
  readonly origins?: readonly string[];
  /** Whom we let in: those with one of these tokens, or with one that an issuer signed. */
  readonly auth?: GateOptions;
  /**
   * The header that names the client, where a proxy before us sets it and takes away what clients send under that name.
   * Rules count and remember by it where we let nobody in ourselves.
   */
  readonly identityHeader?: string;
  /** Listens beyond this machine without asking who comes. */
  readonly insecureBind?: boolean;
}

/** A proxy at work. */
export interface Proxy {
  /** Resolves when all is over, with the exit code a command should have. */
  readonly ended: Promise<ConversationEnd>;
  /** Ends it: politely the first time, at once the second. */
  stop(): void;
  /** The last moment before we are gone: tells who waits, and ends all processes it started, synchronously. */
  abandon(): void;
  /** Takes up another policy, whole or not at all: where it cannot be followed this rejects, and the old one holds. */
  reload(policy: PolicySettings): Promise<void>;
  /** The version of the policy that holds now, as the audit log has it: a short hash of what it says. */
  readonly policyVersion: string;
  /**
   * What is counted of the sessions that rules remember. Empty where there is neither a policy nor an interceptor: then
   * nothing is counted.
   */
  sessions(): readonly SessionStatistics[];
  /** Where clients come in, where they come by HTTP. */
  readonly url: string | null;
  /** The connection to the server, as it is now. */
  readonly connection: UpstreamConnection;
  /** What it was told to do, where the server is at a URL. It is frozen, with all that is in it. */
  readonly config: ProxyConfig | null;
}
