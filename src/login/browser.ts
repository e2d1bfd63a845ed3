import { spawn } from "node:child_process";

/** Opens a page in the user's browser. It may fail silently, because the URL is printed too. */
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
    // There is no browser, or it cannot be started.
  }
}

/**
 * The command that opens a page: the one in BROWSER, or else the system's. It does not go through a shell, and it opens
 * only http and https URLs; null for any other URL, and if BROWSER is "none".
 */
export function browserCommand(
  url: string,
  platform: NodeJS.Platform,
  wanted = "",
): { command: string; args: string[] } | null {
  if (!URL.canParse(url)) return null;
  const { protocol, href } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") return null;
  // By convention BROWSER is a list with the preferred command first; `%s` in a command stands for the URL.
  const [first] = wanted.split(platform === "win32" ? ";" : ":");
  const [command, ...words] = first.trim().split(/\s+/);
  if (command === "none") return null;
  if (command !== "") {
    const args = words.map((word) => word.replaceAll("%s", href));
    return { command, args: first.includes("%s") ? args : [...args, href] };
  }
  if (platform === "darwin") return { command: "open", args: [href] };
  // `start` is built into cmd.exe, which would interpret characters of the URL.
  if (platform === "win32") return { command: "rundll32", args: ["url.dll,FileProtocolHandler", href] };
  return { command: "xdg-open", args: [href] };
}
