import { loadCorpus } from "./corpus.ts";
import { createModel, type Direction, type Model } from "./model.ts";
import { mutate } from "./mutate.ts";
import { type Complaint, examine } from "./oracle.ts";
import { createRandom } from "./random.ts";
import { type Said, WORLD } from "./rig.ts";
import { startTrio, type Trio } from "./trio.ts";

/** How it went. */
export interface CommandReport {
  readonly mutants: number;
  readonly processes: number;
  readonly complaints: readonly string[];
}

const VERSION = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}';
/** Both eras' lists are known from the start: nothing waits, so what is heard when does not hang on chance. */
const BEGINNING = [
  '{"jsonrpc":"2.0","id":"list","method":"tools/list"}',
  `{"jsonrpc":"2.0","id":"modern","method":"tools/list","params":{${VERSION}}}`,
];
const LIST = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
const PER_PROCESS = 500;

/** Throws mutants at the built command, a few hundred to a process, from both sides in turn. */
export async function fuzzCommand({ seed, mutants }: { seed: number; mutants: number }): Promise<CommandReport> {
  const random = createRandom(seed);
  const corpus = loadCorpus();
  const complaints: string[] = [];
  let [tried, processes] = [0, 0];
  while (tried < mutants && complaints.length === 0) {
    const direction: Direction = processes % 2 === 0 ? "up" : "down";
    const count = Math.min(PER_PROCESS, mutants - tried);
    // A newline would make two messages of one: in process that is tried as well, here lines are counted.
    const batch = Array.from({ length: count }, () => withoutNewlines(mutate(random, corpus[direction])));
    complaints.push(...(await (direction === "up" ? fromClient(batch) : fromServer(batch))));
    tried += count;
    processes++;
  }
  return { mutants: tried, processes, complaints };
}

async function fromClient(batch: readonly Buffer[]): Promise<string[]> {
  const trio = startTrio(["--deny", WORLD.denied.source], { tools: WORLD.tools });
  const model = createModel(WORLD);
  await begin(trio, model);
  const marks = [trio.lines.length];
  for (const [index, mutant] of batch.entries()) {
    await trio.say(Buffer.concat([mutant, Buffer.from(`\n${ping(index)}\n`)]));
    await trio.answered(`ping-${index}`);
    marks.push(trio.lines.length);
  }
  const { server, code, stderr } = await trio.close();
  if (code !== 0) return [`ended with ${code}: ${stderr}`];
  const heard = segments(server.toString("latin1").split("\n").slice(BEGINNING.length, -1), (index) => ping(index));
  return batch.flatMap((mutant, index) => {
    const expected = model.expect(mutant, "up");
    // The server answers all it hears, so nothing is open when the next mutant comes.
    for (const key of model.waiting("up").keys()) model.end(key, "up");
    const client = trio.lines.slice(marks[index], marks[index + 1] - 1);
    const server = heard[index];
    // What was passed is answered by the server; only what was not is answered by the relay.
    const said: Said = { server, client: server.length > 0 ? [] : client };
    const complaint = examine(model, mutant, "up", said, expected);
    return describe(complaint ?? (client.length > 1 ? "answered twice" : null), mutant);
  });
}

async function fromServer(batch: readonly Buffer[]): Promise<string[]> {
  const cues = batch.map((bytes, index) => ({ on: `cue-${index}`, bytes }));
  const silence = { on: 7, bytes: Buffer.alloc(0) };
  const trio = startTrio(["--deny", WORLD.denied.source], { tools: WORLD.tools, says: [silence, ...cues] });
  const model = createModel(WORLD);
  const complaints: string[] = [];
  for (const [index, mutant] of batch.entries()) {
    const cue = `{"jsonrpc":"2.0","id":"cue-${index}","method":"ping"}`;
    await trio.say(`${LIST}\n${ping(`before-${index}`)}\n`);
    await trio.answered(`ping-before-${index}`);
    model.expect(Buffer.from(LIST), "up");
    const from = trio.lines.length;
    await trio.say(`${cue}\n${ping(index)}\n`);
    model.expect(Buffer.from(cue), "up");
    await trio.answered(`ping-${index}`);
    const expected = model.expect(mutant, "down");
    const said: Said = { client: trio.lines.slice(from, -1), server: [] };
    const complaint = examine(model, mutant, "down", said, expected);
    // Whether the server was answered is seen in process; here its side is not listened to line by line.
    complaints.push(...describe(complaint === "left a request without an answer" ? null : complaint, mutant));
  }
  const { code, stderr } = await trio.close();
  return code === 0 ? complaints : [...complaints, `ended with ${code}: ${stderr}`];
}

async function begin(trio: Trio, model: Model): Promise<void> {
  await trio.say(`${BEGINNING.join("\n")}\n`);
  await trio.answered("list");
  await trio.answered("modern");
  for (const line of BEGINNING) model.expect(Buffer.from(line), "up");
  for (const line of trio.lines) model.expect(withHidden(line), "down");
}

/** The model has to hear the whole list, and not what the client heard of it. */
function withHidden(line: string): Buffer {
  const tools = WORLD.tools.map((name) => ({ name, inputSchema: { type: "object" } }));
  return Buffer.from(line.replace(/"result":.*/, `"result":${JSON.stringify({ tools })}}`));
}

function describe(complaint: Complaint, mutant: Buffer): string[] {
  return complaint === null ? [] : [`${complaint}: ${JSON.stringify(mutant.toString("latin1"))}`];
}

/** Cuts what was heard at the pings. */
function segments(lines: readonly string[], sentinel: (index: number) => string): string[][] {
  const found: string[][] = [[]];
  for (const line of lines) {
    if (line === sentinel(found.length - 1)) found.push([]);
    else found.at(-1)?.push(line);
  }
  return found;
}

function ping(name: number | string): string {
  return `{"jsonrpc":"2.0","id":"ping-${name}","method":"ping"}`;
}

function withoutNewlines(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString("latin1").replaceAll("\n", " "), "latin1");
}
