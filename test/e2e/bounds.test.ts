import { expect, test } from "vitest";
import { runLoad } from "../bounds/load.ts";
import { LOADS } from "../bounds/loads.ts";

// A part of each load of `npm run test:bounds`, as much as shows that its bound holds.

for (const load of LOADS) {
  if (load.short === null) continue;
  const { scale, maxMegabytes } = load.short;
  test.skipIf(process.platform !== "linux")(`memory and stalls stay within their bounds: ${load.name}`, async () => {
    const { complaints } = await runLoad(load, scale, maxMegabytes);
    expect(complaints).toEqual([]);
  });
}
