import { createHmac } from "node:crypto";
import { ConnectionError, ProxyError } from "../errors.ts";
import { createPieces } from "../wire/pieces.ts";
import { guardNear, TOO_NEAR } from "./near.ts";
import { createTurnstile } from "./turnstile.ts";
import { type Address, parseAddress } from "./upstream/address.ts";
import { headerOf } from "./upstream/head.ts";
import { createPool, type UpstreamCall } from "./upstream/pool.ts";

/** The result of a webhook or script: a body, or why there is none. */
export type HookReply = { readonly body: Buffer } | { readonly failure: string };

/** A URL that is notified of messages, or asked about them. */
export interface Webhook {
  /**
   * Sends a JSON body and does not wait for the response. False if too much is queued already and the body was dropped.
   */
  tell(body: Buffer): boolean;
  /** Sends a JSON body and waits for the response. Never rejects. */
  ask(body: Buffer, signal?: AbortSignal): Promise<HookReply>;
  /** Resolves when everything queued by `tell` has been sent or has failed, or after this many milliseconds. */
  flush(withinMs: number): Promise<void>;
  /** Aborts all requests. Pending calls of `ask` resolve with a failure. */
  close(): void;
}

/** Options of a webhook. */
export interface WebhookOptions {
  readonly url: string;
  /** The timeout for one request, including the time it waits for others. */
  readonly timeoutMs: number;
  /** The key for signing what is sent; null if it is not signed. */
  readonly secret: string | null;
  /** Whether it may be on this machine or in a private network. */
  readonly allowPrivate: boolean;
  /** Additional certificates to trust: the text of a PEM file. */
  readonly ca?: string | null;
  readonly env?: NodeJS.ProcessEnv;
  readonly now?: () => number;
  /**
   * Called when something could not be delivered, at most once a minute. The text contains neither secrets nor
   * messages.
   */
  readonly onTrouble: (text: string) => void;
}

/**
 * How many requests run at a time, separately for `ask` and `tell`: a request that somebody waits for must not queue
 * behind notifications.
 */
const MAX_INSIDE = 8;
const MAX_WAITING = 1000;
/** How many bytes may be queued by `tell`. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** The limit for a response. For a large request it is twice the size of the request, if that is more. */
const MAX_REPLY_BYTES = 1024 * 1024;
const QUIET_MS = 60_000;

/** Why a webhook would be refused, and what to do about it; null if it is allowed. Names are not looked up. */
export function refuseWebhook(
  { url, allowPrivate }: Pick<WebhookOptions, "url" | "allowPrivate">,
  env: NodeJS.ProcessEnv,
): { readonly why: string; readonly remedy: string } | null {
  const refusal = allowPrivate ? null : guardNear(readAddress(url), env).refusal;
  return refusal === null ? null : { why: refusal, remedy: ALLOW_PRIVATE };
}

const ALLOW_PRIVATE = "Set allow_private: true on the webhook to allow this";

/** Makes a webhook. Throws a ProxyError if the URL cannot be used. */
export function createWebhook(options: WebhookOptions): Webhook {
  const { timeoutMs, secret, allowPrivate, ca = null, env = process.env, now = Date.now, onTrouble } = options;
  const address = readAddress(options.url);
  // The path of a webhook is often a secret.
  const shown = `${address.origin}/…`;
  const guard = allowPrivate ? null : guardNear(address, env);
  if (guard !== null && guard.refusal !== null) throw tooNear(shown);
  const connecting = { timeoutMs, ca, env, ...(guard === null ? {} : { lookup: guard.lookup }) };
  const pool = createPool(address, connecting, () => {});
  const asking = createTurnstile(MAX_INSIDE, MAX_WAITING);
  const telling = createTurnstile(MAX_INSIDE, MAX_WAITING);
  const pending = new Set<(reply: HookReply) => void>();
  const flushing = new Set<() => void>();
  let told = 0; // running or queued
  let queuedBytes = 0;
  let saidAt = -Infinity;
  let unsaid = 0;

  function complain(text: string): void {
    if (now() - saidAt < QUIET_MS) return void unsaid++;
    saidAt = now();
    onTrouble(`the webhook ${shown} ${text}${unsaid === 0 ? "" : ` (and ${unsaid} more like this)`}`);
    unsaid = 0;
  }

  /** Sends one request and calls back once, before the timeout. */
  function send(body: Buffer, isAsked: boolean, finish: (reply: HookReply) => void): () => void {
    const turnstile = isAsked ? asking : telling;
    let call: UpstreamCall | null = null;
    let isInside = false;
    let isOver = false;
    const end = (reply: HookReply): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      withdraw?.();
      call?.abort();
      pending.delete(end);
      finish(reply);
      if (isInside) turnstile.leave();
    };
    const timer = setTimeout(() => end({ failure: `did not answer within ${timeoutMs} ms` }), timeoutMs);
    pending.add(end);
    const go = async (): Promise<void> => {
      isInside = true;
      try {
        await guard?.check();
        if (!isOver) call = exchange(body, isAsked, end);
      } catch (error) {
        end({ failure: (error as Error).message });
      }
    };
    const withdraw = turnstile.enter(() => void go());
    if (withdraw === null) end({ failure: "has too many requests waiting" });
    return () => end({ failure: "was cancelled" });
  }

  /** Performs one request. Redirects are not followed. */
  function exchange(body: Buffer, isAsked: boolean, end: (reply: HookReply) => void): UpstreamCall {
    const most = isAsked ? Math.max(MAX_REPLY_BYTES, 2 * body.length) : MAX_REPLY_BYTES;
    const pieces = createPieces();
    let size = 0;
    return pool.send(
      { method: "POST", path: address.path, headers: headersFor(address, body, secret, now()), body },
      {
        head(head) {
          const { status } = head;
          if (status < 200 || status > 299) end({ failure: `answered with status ${status}` });
          else if (isAsked && (headerOf(head, "content-encoding") ?? "identity").toLowerCase() !== "identity")
            end({ failure: "answered with a content encoding that was not requested" });
        },
        body(bytes) {
          size += bytes.length;
          if (size > most) end({ failure: "sent a response that is too large" });
          else if (isAsked) pieces.push(bytes);
        },
        done: () => end({ body: pieces.join() }),
        failed: (error) => end({ failure: describe(error) }),
      },
    );
  }

  return {
    tell(body) {
      if (told >= MAX_WAITING || queuedBytes + body.length > MAX_QUEUED_BYTES) {
        complain("has too many requests waiting");
        return false;
      }
      told++;
      queuedBytes += body.length;
      send(body, false, (reply) => {
        told--;
        queuedBytes -= body.length;
        if ("failure" in reply) complain(reply.failure);
        if (told === 0) for (const flushed of flushing) flushed();
      });
      return true;
    },
    ask(body, signal) {
      return new Promise((resolve) => {
        const stop = (): void => withdraw();
        signal?.addEventListener("abort", stop, { once: true });
        const withdraw = send(body, true, (reply) => {
          signal?.removeEventListener("abort", stop);
          if ("failure" in reply && signal?.aborted !== true) complain(reply.failure);
          resolve(reply);
        });
        if (signal?.aborted === true) withdraw();
      });
    },
    flush(withinMs) {
      if (told === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const flushed = (): void => {
          clearTimeout(timer);
          flushing.delete(flushed);
          resolve();
        };
        const timer = setTimeout(flushed, withinMs);
        flushing.add(flushed);
      });
    },
    close() {
      asking.close();
      telling.close();
      saidAt = Infinity; // pending calls get their failure, and nothing more is logged
      for (const end of pending) end({ failure: "was closed" });
      pool.close();
    },
  };
}

function headersFor({ credentials }: Address, body: Buffer, secret: string | null, time: number): string {
  const lines = [
    "Content-Type: application/json",
    "Accept: application/json",
    "Accept-Encoding: identity",
    "User-Agent: fairlead",
  ];
  if (credentials !== null) lines.push(`Authorization: ${credentials}`);
  if (secret !== null) lines.push(`Fairlead-Signature: ${signBody(secret, body, time)}`);
  return lines.map((line) => `${line}\r\n`).join("");
}

/** The time in seconds, and the HMAC-SHA256 of the time, a dot and the body. The time lets receivers reject replays. */
export function signBody(secret: string, body: Buffer, time: number): string {
  const seconds = Math.floor(time / 1000);
  const mac = createHmac("sha256", secret).update(`${seconds}.`).update(body).digest("hex");
  return `t=${seconds},v1=${mac}`;
}

function readAddress(url: string): Address {
  try {
    return parseAddress(url);
  } catch (cause) {
    // The URL may contain a secret anywhere, so it is not shown.
    throw new ProxyError(
      "BAD_WEBHOOK",
      "The URL of a webhook is not valid",
      "Write a URL that begins with http:// or https://",
      {
        cause,
      },
    );
  }
}

function tooNear(shown: string): ProxyError {
  return new ProxyError("BAD_WEBHOOK", `The webhook ${shown} is not contacted: ${TOO_NEAR}`, ALLOW_PRIVATE);
}

function describe(error: ConnectionError): string {
  if (error.internalDetails === TOO_NEAR) return `is not contacted: ${TOO_NEAR}`;
  return `cannot be reached: ${error.message}`;
}
