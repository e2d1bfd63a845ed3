import { appendFileSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { clearDesks, createDesk, event, runProgram } from "../../support/audit.ts";

afterAll(clearDesks);

test("two processes write to one file at once, and it verifies", async () => {
  const desk = createDesk();
  const program = `
    const log = openAudit({ file: given.file, keyFile: given.keyFile, warn: console.log });
    await meet(given.place, 2);
    for (let round = 0; round < 40; round++) {
      for (let index = 0; index < 500; index++) log.write(event({ session: "s" + process.pid, id: String(index) }));
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (round % 4 === 0) await log.flush();
    }
    log.close();`;
  const place = join(desk.folder, "place");
  const programs = [runProgram(program, { ...desk, place }), runProgram(program, { ...desk, place })];
  expect(await Promise.all(programs.map(({ ended }) => ended))).toEqual(["", ""]);
  expect(desk.verify()).toMatchObject({ chains: 2, lost: 0, findings: [], notes: [] });
  // One may find the other in the middle of a line when it opens the file, and account for that in a record of its own.
  expect(desk.records().filter(({ type }) => type === "event")).toHaveLength(40_000);
  // They did take turns.
  const turns = desk
    .lines()
    .filter((line, index, all) => index > 0 && line.slice(0, 24) !== all[index - 1].slice(0, 24));
  expect(turns.length).toBeGreaterThan(4);
}, 60_000);

test("a process that ends writes the rest, also while a write is under way", async () => {
  const desk = createDesk();
  const output = await runProgram(
    `
    const log = openAudit({ file: given.file, keyFile: given.keyFile, warn: console.log });
    process.on("exit", () => log.close());
    for (let id = 0; id < 2000; id++) log.write(event({ id: String(id) }));
    void log.flush();
    setImmediate(() => { for (let id = 2000; id < 2500; id++) log.write(event({ id: String(id) })); process.exit(3); });`,
    { ...desk },
  ).ended;
  expect(output).toBe("");
  const ids = desk.records().flatMap(({ type, id }) => (type === "event" ? [id] : []));
  expect(ids).toEqual(Array.from({ length: 2500 }, (_, id) => id));
  expect(desk.verify()).toMatchObject({ findings: [], notes: [] });
}, 60_000);

test("a process that is killed leaves a chain without an end, which is no tampering; a cut of it is", async () => {
  const desk = createDesk();
  const ready = join(desk.folder, "ready");
  const { pid, ended } = runProgram(
    `
    import { writeFileSync } from "node:fs";
    const log = openAudit({ file: given.file, keyFile: given.keyFile, warn: console.log });
    for (let id = 0; id < 10; id++) log.write(event({ id: String(id) }));
    await log.flush();
    writeFileSync(given.ready, "");
    setInterval(() => {}, 1000);`,
    { ...desk, ready },
  );
  await expect.poll(() => existsSync(ready), { timeout: 30_000 }).toBe(true);
  expect(desk.verify()).toMatchObject({ findings: [], notes: [expect.stringContaining("is still being written")] });
  process.kill(pid, "SIGKILL");
  await ended;
  const crashed = [expect.stringMatching(/ended without a closing record: its writer crashed or was killed$/)];
  expect(desk.verify()).toMatchObject({ findings: [], notes: crashed, records: 11 });

  const all = desk.lines();
  desk.replace(all.slice(0, -1));
  expect(desk.verify().findings).toMatchObject([
    { where: "line 10", text: expect.stringMatching(/^record 10 of chain .* is missing after it/) as string },
  ]);
  desk.replace(all);

  // As if it had died in the middle of a line.
  appendFileSync(desk.file, '{"log":"unfinished');
  expect(desk.verify()).toMatchObject({
    findings: [],
    notes: ["line 12: an unfinished line of 18 bytes: its writer died", ...crashed],
  });
  // The next writer vouches for the chain, and accounts for the line.
  desk.chain(1);
  const torn = expect.stringMatching(/^line 12: 18 bytes of an unfinished line\./) as string;
  expect(desk.verify()).toMatchObject({ findings: [], notes: [torn, ...crashed], records: 14 });
  desk.replace(desk.lines().toSpliced(10, 1));
  expect(desk.verify().findings).toMatchObject([
    { where: "line 12", text: expect.stringMatching(/^record 10 of chain/) as string },
  ]);
}, 60_000);

test("a writer goes on after the unfinished line of another that died", async () => {
  const desk = createDesk();
  const log = desk.open();
  await log.flush();
  appendFileSync(desk.file, '{"log":"unfinished');
  log.write(event());
  await log.flush();
  log.write(event());
  log.close();
  expect(desk.lines().slice(1, 3)).toEqual(['{"log":"unfinished', expect.stringContaining('"torn":[18]')]);
  const torn = expect.stringMatching(/^line 2: 18 bytes of an unfinished line\./) as string;
  expect(desk.verify()).toMatchObject({ findings: [], notes: [torn], records: 5 });
});

test("a large log is verified in little memory", async () => {
  const desk = createDesk();
  const output = await runProgram(
    `
    import { verifyAudit } from ${JSON.stringify(join(import.meta.dirname, "../../../src/record/audit/verify.ts"))};
    const log = openAudit({ file: given.file, keyFile: given.keyFile, warn: console.log });
    for (let round = 0; round < 10; round++) {
      for (let index = 0; index < 10_000; index++) log.write(event());
      await log.flush();
    }
    log.close();
    globalThis.gc?.();
    const before = process.memoryUsage();
    const { records } = verifyAudit({ files: [given.file], keyFile: given.keyFile });
    const after = process.memoryUsage();
    console.log(records, after.heapUsed + after.external - before.heapUsed - before.external < 16 * 1024 * 1024);`,
    { ...desk },
  ).ended;
  expect(statSync(desk.file).size).toBeGreaterThan(25_000_000);
  expect(output).toBe("100002 true\n");
}, 60_000);
