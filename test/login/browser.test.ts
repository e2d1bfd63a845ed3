import { expect, test } from "vitest";
import { browserCommand, openBrowser } from "../../src/login/browser.ts";

test("a page is opened by a program that no shell starts", () => {
  const page = "https://a.example/x?a=1&b=%22$(reboot)`x`|y";
  const { href } = new URL(page);
  expect(browserCommand(page, "linux")).toEqual({ command: "xdg-open", args: [href] });
  expect(browserCommand(page, "darwin")).toEqual({ command: "open", args: [href] });
  expect(browserCommand(page, "win32")).toEqual({ command: "rundll32", args: ["url.dll,FileProtocolHandler", href] });
});

test("BROWSER says which program, with or without a place for the page", () => {
  const page = "https://a.example/x?a=1&b=2";
  expect(browserCommand(page, "linux", "firefox")).toEqual({ command: "firefox", args: [page] });
  expect(browserCommand(page, "linux", "w3m -o x %s:lynx")).toEqual({ command: "w3m", args: ["-o", "x", page] });
  expect(browserCommand(page, "win32", "C:\\b.exe;d.exe")).toEqual({ command: "C:\\b.exe", args: [page] });
  expect(browserCommand(page, "linux", "none")).toBeNull();
  expect(browserCommand("file:///etc/passwd", "linux", "firefox")).toBeNull();
});

test("nothing but a page is opened", () => {
  for (const url of [
    "javascript:alert(1)",
    "file:///etc/passwd",
    "--help",
    "",
    "calc.exe",
    "ms-settings:",
    "\\\\host\\x",
  ]) {
    expect(browserCommand(url, "win32"), url).toBeNull();
  }
});

test("a machine without a browser is no trouble", async () => {
  const path = process.env["PATH"];
  process.env["PATH"] = "/nowhere";
  try {
    openBrowser("https://a.example/", "linux");
    await new Promise((resolve) => setTimeout(resolve, 50));
  } finally {
    process.env["PATH"] = path;
  }
});
