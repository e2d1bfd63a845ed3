// npm run fuzz: mutants against the relay, in process or with --command through the built command.
// npm run fuzz -- conversations: whole conversations, over all pairs of transports.
//   --seconds <n>         how long (60)
//   --mutants <n>         how many mutants at most
//   --conversations <n>   how many conversations at most
//   --pair <from-to>      only conversations between these, such as http-stdio
//   --seed <n>            repeats a run; also FUZZ_SEED
import { parseArgs } from "node:util";
import { fuzzCommand } from "./command.ts";
import { converse, describeConversations } from "./conversations/conversations.ts";
import { describeReport, fuzz } from "./fuzz.ts";
import { chooseSeed } from "./random.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "60" },
    mutants: { type: "string" },
    conversations: { type: "string" },
    pair: { type: "string" },
    seed: { type: "string" },
    command: { type: "boolean", default: false },
  },
});
const seed = values.seed === undefined ? chooseSeed() : Number(values.seed) >>> 0;
const started = performance.now();
if (positionals[0] === "conversations") {
  const report = await converse({
    seed,
    seconds: Number(values.seconds),
    conversations: Number(values.conversations ?? Infinity),
    shrinkSeconds: 120,
    ...(values.pair === undefined ? {} : { pair: values.pair }),
  });
  console.log(describeConversations(report, performance.now() - started));
  process.exit(report.found === null ? 0 : 1);
} else if (values.command) {
  const { mutants, processes, complaints } = await fuzzCommand({ seed, mutants: Number(values.mutants ?? 5000) });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${mutants} mutants through ${processes} processes in ${seconds} s, FUZZ_SEED=${seed}`);
  for (const complaint of complaints) console.log(complaint);
  process.exitCode = complaints.length === 0 ? 0 : 1;
} else {
  const report = await fuzz({ seed, mutants: Number(values.mutants ?? Infinity), seconds: Number(values.seconds) });
  console.log(describeReport(report, performance.now() - started));
  process.exitCode = report.find === null ? 0 : 1;
}
