import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { openRedirect, type Redirect } from "../../src/login/redirect.ts";

const opened: Redirect[] = [];
afterEach(() => {
  for (const redirect of opened.splice(0)) redirect.close();
});

async function open(before: string | null = null): Promise<Redirect> {
  const redirect = await openRedirect(before);
  opened.push(redirect);
  return redirect;
}

function get(uri: string, options: { method?: string; headers?: Record<string, string> } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(uri, options, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk));
      response.on("end", () => resolve(`${response.statusCode} ${body}`));
    });
    sent.on("error", reject).end();
  });
}

test("only a browser that comes back from our login is listened to", async () => {
  const redirect = await open();
  const answer = redirect.answer("our-state", 5000);
  const origin = new URL(redirect.uri).origin;
  const port = new URL(redirect.uri).port;
  const strays = await Promise.all([
    get(`${redirect.uri}?code=c&state=another`),
    get(`${redirect.uri}?code=c`),
    get(`${redirect.uri}?code=c&state=our-state&state=our-state`),
    get(`${origin}/other?code=c&state=our-state`),
    get(`${redirect.uri}?code=c&state=our-state`, { method: "POST" }),
    get(`${redirect.uri}?code=c&state=our-state`, { headers: { host: `evil.example:${port}` } }),
  ]);
  for (const stray of strays) expect(stray).toMatch(/^400 /);
  expect(await get(`${redirect.uri}?code=right&state=our-state`)).toMatch(/^200 .*You may close this window/);
  expect((await answer).get("code")).toBe("right");
});

test("nothing that came is on the page", async () => {
  const redirect = await open();
  void redirect.answer("s", 5000);
  expect(await get(`${redirect.uri}?error=%3Cscript%3E&state=s`)).not.toContain("script");
});

test("it is on this machine only, and gone when it is closed", async () => {
  const redirect = await open();
  expect(new URL(redirect.uri).hostname).toBe("127.0.0.1");
  redirect.close();
  await expect(get(redirect.uri)).rejects.toThrow("ECONNREFUSED");
});

test("it is where it was before, or elsewhere when somebody is there", async () => {
  const first = await open();
  const second = await open(first.uri);
  expect(second.uri).not.toBe(first.uri);
  first.close();
  const third = await open(first.uri);
  expect(third.uri).toBe(first.uri);
});
