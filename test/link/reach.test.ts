import { describe, expect, test } from "vitest";
import { nearness, nearnessOf, readEndpoint } from "../../src/link/reach.ts";

describe("how near an address is", () => {
  test.each([
    ["8.8.8.8", 0],
    ["2606:4700::1111", 0],
    ["172.32.0.1", 0],
    ["10.0.0.1", 1],
    ["172.31.255.255", 1],
    ["192.168.1.1", 1],
    ["100.64.0.1", 1],
    ["fd00::1", 1],
    ["fec0::1", 1],
    ["127.0.0.1", 2],
    ["127.255.0.1", 2],
    ["0.0.0.0", 2],
    ["169.254.169.254", 2],
    ["255.255.255.255", 2],
    ["::", 2],
    ["::1", 2],
    ["fe80::1%eth0", 2],
    ["no address", 2],
    // IPv4 in other clothes: mapped, NAT64, 6to4.
    ["::ffff:127.0.0.1", 2],
    ["::ffff:7f00:1", 2],
    ["::ffff:10.0.0.1", 1],
    ["64:ff9b::127.0.0.1", 2],
    ["64:ff9b::a00:1", 1],
    ["64:ff9b::808:808", 0],
    ["2002:7f00:1::", 2],
    ["2002:a9fe:a9fe::1", 2],
    ["2002:808:808::1", 0],
    ["::127.0.0.1", 2],
    ["::a00:1", 2],
    ["192.0.0.192", 1],
  ] as const)("%s: %i", (address, near) => {
    expect(nearness(address)).toBe(near);
  });

  test("is that of the nearest address of a host", async () => {
    expect(await nearnessOf("localhost")).toBe(2);
    expect(await nearnessOf("[::1]")).toBe(2);
    expect(await nearnessOf("10.1.1.1")).toBe(1);
    expect(await nearnessOf("no-such-host.invalid")).toBe(0);
  });
});

test("a URL that tokens may go to is https, or on this machine", () => {
  expect(readEndpoint("https://a.example/x", "it").href).toBe("https://a.example/x");
  expect(readEndpoint("http://127.0.0.1:1/", "it").port).toBe("1");
  for (const bad of ["http://a.example", "javascript:alert(1)", "file:///x", "data:,x", "", 7, null, "https://a:b@c"]) {
    expect(() => readEndpoint(bad, "it"), String(bad)).toThrow("Login failed: it ");
  }
});
