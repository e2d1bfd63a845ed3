import { computeMac, parseRecord, RECORD_START, type RecordLine } from "./chain.ts";
import { type Findings, type Place, showPlace } from "./findings.ts";
import type { AuditKey } from "./key.ts";
import { KNOWN_VERSIONS, type Seal } from "./line.ts";
import type { Line } from "./reader.ts";
import { isBegun } from "./torn.ts";

/** What is known of a chain, as far as it has been read. */
interface ChainState {
  /** The last record in its order, its mac, and where it stands. */
  seq: number;
  mac: string;
  place: Place;
  isClosed: boolean;
  /** Whether a later chain says where it ended. */
  isSealed: boolean;
  /** Whether anything is wrong with it. */
  isDoubted: boolean;
}

/** Checks the lines of a log, one after the other. */
export interface Checker {
  readonly chains: ReadonlyMap<string, ChainState>;
  readonly counts: { readonly records: number; readonly gaps: number; readonly lost: number };
  /** Returns whether the line ends with a record or the beginning of one, which is what writers leave. */
  take(line: Line, place: Place): boolean;
  /** Compares a chain with what somebody knows of it. */
  compare(seal: Seal, place: Place | null): void;
  /** Reports the lines that are no records and that no record accounts for. */
  end(): void;
}

interface State extends ChainState {
  /** What the next mac may rest on: one mac, or where something is wrong what else it may have been. */
  bases: string[];
  /** Records that were passed over, first and last of each run. */
  readonly missing: [number, number][];
  /** Whether it can be checked: our key, our version. */
  isOurs: boolean;
}

/** What stands in the file and is no line of its own. */
interface Scrap {
  readonly place: Place;
  readonly bytes: number;
  /** Nothing, a record without its newline, the beginning of one, or something that writers do not leave. */
  readonly kind: "empty" | "record" | "begun" | "strange";
}

interface Claims {
  readonly version?: unknown;
  readonly key?: unknown;
  readonly seals?: readonly Seal[];
  readonly torn?: readonly number[];
  readonly lost?: number;
  readonly from?: string;
  readonly to?: string;
  readonly reason?: string;
}

/** Makes a checker. */
export function createChecker(key: AuditKey, findings: Findings): Checker {
  const chains = new Map<string, State>();
  const counts = { records: 0, gaps: 0, lost: 0 };
  let strangers = 0; // chains that nobody with our key began
  const scraps: Scrap[] = []; // what is no line of its own, until a record accounts for it

  function scrap(each: Scrap): void {
    if (scraps.length < MAX_SCRAPS) scraps.push(each);
    else findings.add(each.place, noRecord(each.bytes));
  }

  function doubt(chain: State, place: Place, text: string): void {
    chain.isDoubted = true;
    findings.add(place, text);
  }

  function check(record: RecordLine, place: Place): void {
    counts.records++;
    const { log, seq, mac } = record;
    const chain = chains.get(log) ?? begin(record, place);
    if (chain === null) return findings.changed(place, log, seq);
    if (seq === 0 && record.type === "open" && chain.seq < 0) greet(chain, record, place);
    if (!chain.isOurs) return;
    if (seq <= chain.seq) {
      const isMoved = chain.missing.some(([first, last]) => first <= seq && seq <= last);
      chain.bases.splice(2, 1, mac);
      return doubt(chain, place, `record ${seq} of chain ${log} is ${isMoved ? "out of order" : "repeated"}`);
    }
    const expected = chain.seq + 1;
    const isGenuine =
      seq === expected && chain.bases.some((base) => computeMac(key.records, base, record.body) === mac);
    if (seq > expected) {
      if (chain.missing.length < MAX_MISSING) chain.missing.push([expected, seq - 1]);
      doubt(chain, place, missing(log, expected, seq - 1));
    } else if (!isGenuine) {
      chain.isDoubted = true;
      findings.changed(place, log, seq);
    }
    // After a change the next record rests on the mac that is written here, or, if that was changed, on the true one.
    chain.bases = isGenuine ? [mac] : [mac, computeMac(key.records, chain.bases[0], record.body)];
    Object.assign(chain, { seq, mac, place });
    if (record.type === "close") chain.isClosed = true;
    if (isGenuine && record.type !== "event") believe(record, place);
  }

  /** Null where it is one more of those that nobody with our key began: a forger can make up any number of them. */
  function begin({ log, seq, mac, body }: RecordLine, place: Place): State | null {
    if (seq !== 0 || computeMac(key.records, "", body) !== mac) {
      if (strangers === MAX_STRANGERS) return null;
      strangers++;
    }
    const flags = { isClosed: false, isSealed: false, isDoubted: false, isOurs: true };
    const chain = { seq: -1, mac: "", place, bases: [""], missing: [], ...flags };
    chains.set(log, chain);
    return chain;
  }

  /** Whether a chain is one we can check. Its mac cannot tell: it may be made with a key we do not have. */
  function greet(chain: State, record: RecordLine, place: Place): void {
    const claims = read(record);
    if (claims === null || !KNOWN_VERSIONS.includes(claims.version)) {
      chain.isOurs = typeof claims?.version !== "number";
      if (!chain.isOurs) doubt(chain, place, `chain ${record.log} has a format that this version does not know`);
    } else if (claims.key !== key.id) {
      chain.isOurs = typeof claims.key !== "string" || !/^[0-9a-f]{16}$/.test(claims.key);
      if (!chain.isOurs) {
        doubt(chain, place, `chain ${record.log} was written with another key (${String(claims.key)}, not ${key.id})`);
      }
    }
  }

  /** What a genuine record says of other things than messages. */
  function believe(record: RecordLine, place: Place): void {
    const { seals = [], torn, lost = 0, from, to, reason } = read(record) ?? {};
    if (record.type === "gap" && lost > 0) {
      counts.gaps++;
      counts.lost += lost;
      findings.note(`${showPlace(place)}: ${lost} events were lost between ${from} and ${to} (${reason})`);
    }
    if (torn !== undefined) explain(torn);
    if (record.type === "open") for (const seal of seals) compare(seal, place);
  }

  /** Takes the unfinished lines that a record accounts for off the list. */
  function explain(torn: readonly number[]): void {
    for (const bytes of torn) {
      strike(bytes);
      // The writer puts a newline after each. Where another writer had ended the line by then, that makes an empty one.
      strike(0);
    }
  }

  // Only the length is vouched for. What does not look like a writer's doing is not struck: whoever can
  // append to the file could otherwise have anything accounted for.
  function strike(bytes: number): void {
    const index = scraps.findLastIndex((each) => each.bytes === bytes && each.kind !== "strange");
    if (index < 0) return;
    const [{ place, kind }] = scraps.splice(index, 1);
    if (kind === "begun") findings.note(`${showPlace(place)}: ${begun(bytes)}`);
  }

  function nextSeq(log: string): number {
    return (chains.get(log)?.seq ?? -1) + 1;
  }

  function compare([log, seq, mac]: Seal, place: Place | null): void {
    const chain = chains.get(log);
    if (chain === undefined) {
      return findings.add(
        place,
        place === null ? `chain ${log} is missing: it had ${seq + 1} records` : missing(log, 0, seq),
      );
    }
    chain.isSealed = true;
    if (!chain.isOurs) return;
    if (chain.seq < seq) doubt(chain, place ?? chain.place, missing(log, chain.seq + 1, seq, place === null));
    else if (chain.seq === seq && chain.mac !== mac && !chain.isDoubted) {
      doubt(chain, chain.place, `record ${seq} of chain ${log} is not the one that was written`);
    }
  }

  return {
    chains,
    counts,
    compare,
    take({ text, bytes, isFinished }, place) {
      if (text === null || bytes === 0) {
        scrap({ place, bytes, kind: bytes === 0 ? "empty" : "strange" });
        return false;
      }
      let kind: Scrap["kind"] = "strange";
      // Usually one piece. More, where a writer could not finish its line and another's record follows.
      for (let start = 0; start < bytes;) {
        const next = text.indexOf(RECORD_START, start + 1);
        const end = next < 0 ? bytes : next;
        const piece = text.subarray(start, end);
        const record = parseRecord(piece);
        kind = record !== null ? "record" : isBegun(piece, nextSeq) ? "begun" : "strange";
        const isWhole = record !== null && next < 0;
        if (!isWhole && (isFinished || next >= 0)) scrap({ place, bytes: end - start, kind });
        if (record !== null) check(record, place);
        start = end;
      }
      return kind !== "strange";
    },
    end() {
      for (const { place, bytes } of scraps) findings.add(place, noRecord(bytes));
    },
  };
}

const MAX_SCRAPS = 1000;
const MAX_STRANGERS = 1000;
const MAX_MISSING = 1000;

function noRecord(bytes: number): string {
  return bytes === 0 ? "an empty line" : `${bytes} bytes that are not a line of the log, and that no record mentions`;
}

function begun(bytes: number): string {
  return `${bytes} bytes of an unfinished line. A later record confirms their number, but not their content`;
}

function missing(log: string, first: number, last: number, after = false): string {
  const records =
    first === last ? `record ${first} of chain ${log} is` : `records ${first} to ${last} of chain ${log} are`;
  return `${records} missing ${after ? "after" : "before"} it`;
}

function read({ body }: RecordLine): Claims | null {
  try {
    return JSON.parse(`${body.toString("utf8")}}`) as Claims;
  } catch {
    return null;
  }
}
