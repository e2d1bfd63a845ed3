import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

test("the filter runs where nothing of Node is, as in a browser", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: ["src/filter/index.ts"],
    absWorkingDir: new URL("../..", import.meta.url).pathname,
    bundle: true,
    write: false,
    minify: true,
    metafile: true,
    format: "iife",
    globalName: "filter",
    platform: "browser",
    // Nothing but our own sources: the engine for patterns is handed in.
    external: ["re2js"],
  });
  const inputs = Object.keys(metafile.inputs).filter(
    (path) => !/^src\/(?:filter|text|message\/(?:text|characters)\.ts)/.test(path),
  );
  expect(inputs).toEqual([]);
  const [{ text, contents }] = outputFiles;
  console.log(`filter: ${contents.length} bytes of script for a browser, ${gzipSync(contents).length} compressed`);
  expect(gzipSync(contents).length).toBeLessThan(20_000);
  const script = `${text};
    const row = { text: () => "write_file", word: () => "deny", is: () => true, amount: () => 60, body: () => undefined, shown: () => "a Row" };
    const { filter: read } = filter.parseFilter('tool:WRITE verdict:deny latency>50ms row');
    JSON.stringify([
      filter.compileFilter(read, { now: 0 }).judge(row),
      filter.printFilter(read),
      filter.parseFilter('tol:x "').mistakes.length,
      filter.completeFilter("verdict:d", 9).offers.length,
      filter.toSql(read, (name) => name, { now: 0 }).rest,
      filter.toConditions(read).conditions.length,
      filter.checkUsage(read, "breakpoint").length,
    ])`;
  // A context of its own has what ECMAScript has, and nothing else.
  expect(JSON.parse(runInContext(script, createContext({})) as string)).toEqual([
    true,
    "tool:WRITE verdict:deny latency>50ms row",
    2,
    2,
    null,
    1,
    2,
  ]);
});
