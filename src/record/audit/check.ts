import { computeMac, parseRecord, RECORD_START, type RecordLine } from "./chain.ts";
import { type Findings, type Place, showPlace } from "./findings.ts";
import type { AuditKey } from "./key.ts";
import { KNOWN_VERSIONS, type Seal } from "./line.ts";
import type { Line } from "./reader.ts";
import { isBegun } from "./torn.ts";

/** What is known about a chain so far. */
interface ChainState {
  /** The number, MAC and place of its last record in sequence. */
  seq: number;
  mac: string;
  place: Place;
  isClosed: boolean;
  /** Whether a later chain contains a seal of its end. */
  isSealed: boolean;
  /** Whether a finding concerns it. */
  isDoubted: boolean;
}

/** Checks the lines of a log in order. */
export interface Checker {
  readonly chains: ReadonlyMap<string, ChainState>;
  readonly counts: { readonly records: number; readonly gaps: number; readonly lost: number };
  /** Checks a line. Returns whether the line ends with a record or with the beginning of one, as writers leave it. */
  take(line: Line, place: Place): boolean;
  /** Compares a chain with a known record number and MAC. */
  compare(seal: Seal, place: Place | null): void;
  /** Reports lines that are not records and that no record accounts for. */
  end(): void;
}

interface State extends ChainState {
  /** The MACs that the next record may be based on: one, or several after a changed record. */
  bases: string[];
  /** The missing records: first and last of each run. */
  readonly missing: [number, number][];
  /** Whether it can be checked, because it uses our key and a known version. */
  isOurs: boolean;
}

/** Bytes in the file that are not a valid line of their own. */
interface Scrap {
  readonly place: Place;
  readonly bytes: number;
  /** Nothing, a record without its newline, the beginning of a record, or bytes that writers do not leave. */
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
  let strangers = 0; // chains that were not begun with our key
  const scraps: Scrap[] = []; // kept until a record accounts for them

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
    // If a record was changed, the next one is based on the MAC written here, or, if the MAC itself was changed, on the
    // original one.
    chain.bases = isGenuine ? [mac] : [mac, computeMac(key.records, chain.bases[0], record.body)];
    Object.assign(chain, { seq, mac, place });
    if (record.type === "close") chain.isClosed = true;
    if (isGenuine && record.type !== "event") believe(record, place);
  }

  /** Null if there are too many chains that were not begun with our key: a forger can add any number of them. */
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

  /**
   * Determines whether a chain can be checked. The MAC cannot tell, because it may be made with a key that we do not
   * have.
   */
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

  /** Processes what a valid record says about other things than messages. */
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

  /** Removes the unfinished lines that a record accounts for from the list. */
  function explain(torn: readonly number[]): void {
    for (const bytes of torn) {
      strike(bytes);
      // The writer adds a newline after each. If another writer had already ended the line, that makes an empty line.
      strike(0);
    }
  }

  // A record vouches only for the length of an unfinished line. Bytes that no writer would leave are not removed from
  // the list: otherwise whoever can append to the file could have anything accounted for.
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
      // Usually one piece. There are more if a writer could not finish its line and the record of another writer
      // follows.
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
