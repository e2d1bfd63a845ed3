import { expect, test } from "vitest";
import { givenClient, identify } from "../../src/login/client.ts";

const issuer = { issuer: "https://issuer.example" };

async function authenticate(secret: string | null, methods?: string[]): Promise<[string | null, string]> {
  const about = { ...issuer, ...(methods && { token_endpoint_auth_methods_supported: methods }) };
  const { client, authentication } = identify(givenClient(about, "an-id", secret));
  const [body, headers] = [new URLSearchParams(), new Headers()];
  await authentication(about, client, body, headers);
  return [headers.get("authorization"), body.toString()];
}

test("a client shows its secret in the way the issuer wants", async () => {
  const basic = `Basic ${Buffer.from("an-id:s-3%3A%2F").toString("base64")}`;
  expect(await authenticate("s-3:/")).toEqual([basic, ""]);
  expect(await authenticate("s-3:/", ["client_secret_post", "client_secret_basic"])).toEqual([basic, ""]);
  expect(await authenticate("s-3:/", ["client_secret_post"])).toEqual([
    null,
    "client_id=an-id&client_secret=s-3%3A%2F",
  ]);
});

test("a client without a secret says who it is", async () => {
  expect(await authenticate(null)).toEqual([null, "client_id=an-id"]);
});
