import { spawn } from "node:child_process";

/** Opens a page in the user's browser, where there is one. The page is printed too, so it does not matter if not. */
export function openBrowser(
  url: string,
  platform: NodeJS.Platform = process.platform,
  wanted = process.env["BROWSER"] ?? "",
): void {
  const line = browserCommand(url, platform, wanted);
  if (line === null) return;
  try {
    const child = spawn(line.command, line.args, { stdio: "ignore", detached: true, windowsHide: true });
    child.on("error", () => {});
    child.unref();
  } catch {
    // A machine without a browser, or without room for one.
  }
}

/**
 * The command that opens a page: the one in BROWSER, or else the system's. No shell reads it, and nothing but a page
 * is opened; null for all else, and where BROWSER says "none".
 */
export function browserCommand(
  url: string,
  platform: NodeJS.Platform,
  wanted = "",
): { command: string; args: string[] } | null {
  if (!URL.canParse(url)) return null;
  const { protocol, href } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") return null;
  // By custom a list, of which the first is the favourite, with or without a place for the page.
  const [first] = wanted.split(platform === "win32" ? ";" : ":");
  const [command, ...words] = first.trim().split(/\s+/);
  if (command === "none") return null;
  if (command !== "") {
    const args = words.map((word) => word.replaceAll("%s", href));
    return { command, args: first.includes("%s") ? args : [...args, href] };
  }
  if (platform === "darwin") return { command: "open", args: [href] };
  // `start` is a word of cmd.exe, which would read what is in the URL.
  if (platform === "win32") return { command: "rundll32", args: ["url.dll,FileProtocolHandler", href] };
  return { command: "xdg-open", args: [href] };
}
