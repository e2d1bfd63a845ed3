/** A sign of tampering or damage, and where it is. */
interface Finding {
  /** Such as `line 7`; null if it has no place in a file. */
  readonly where: string | null;
  readonly text: string;
}

/** The result of a verification. */
export interface AuditReport {
  /** The files, in the order they were read. */
  readonly files: readonly { readonly file: string; readonly records: number }[];
  readonly records: number;
  readonly chains: number;
  readonly gaps: number;
  /** Events that the log itself reports as lost. */
  readonly lost: number;
  readonly findings: readonly Finding[];
  /** The number of further findings. */
  readonly moreFindings: number;
  /** Information that is not a sign of tampering. */
  readonly notes: readonly string[];
  readonly moreNotes: number;
}

/** Collects findings and notes: the first of them in full, the rest as a number. */
export interface Findings {
  add(place: Place | null, text: string): void;
  /** Reports a record that does not match its MAC. Adjacent records of a chain make one finding. */
  changed(place: Place, log: string, seq: number): void;
  note(text: string): void;
  list(): Pick<AuditReport, "findings" | "moreFindings" | "notes" | "moreNotes">;
}

/** A line of one of the files. */
export interface Place {
  /** The file, if there are several. */
  readonly file: string | null;
  readonly line: number;
  /** The position across all files. */
  readonly order: number;
}

/** Formats a place. */
export function showPlace({ file, line }: Place): string {
  return file === null ? `line ${line}` : `${file} line ${line}`;
}

/** Makes an empty collection. */
export function createFindings(): Findings {
  const kept: { place: Place | null; where: string | null; text: string }[] = [];
  const notes: string[] = [];
  let more = 0;
  let moreNotes = 0;
  const runs = new Map<string, { finding: (typeof kept)[number]; first: number; next: number }>();

  function keep(place: Place | null, text: string): (typeof kept)[number] | null {
    if (kept.length >= MAX_FINDINGS) {
      more++;
      return null;
    }
    const finding = { place, where: place === null ? null : showPlace(place), text };
    kept.push(finding);
    return finding;
  }

  return {
    add: (place, text) => void keep(place, text),
    changed(place, log, seq) {
      const run = runs.get(log);
      if (run !== undefined && run.next === seq) {
        run.next++;
        run.finding.text = `records ${run.first} to ${seq} of chain ${log} were changed, up to ${showPlace(place)}`;
        return;
      }
      const finding = keep(place, `record ${seq} of chain ${log} was changed or inserted`);
      if (finding !== null) runs.set(log, { finding, first: seq, next: seq + 1 });
    },
    note(text) {
      if (notes.length < MAX_NOTES) notes.push(text);
      else moreNotes++;
    },
    list() {
      const findings = kept.toSorted((one, other) => order(one.place) - order(other.place));
      return { findings: findings.map(({ where, text }) => ({ where, text })), moreFindings: more, notes, moreNotes };
    },
  };
}

/** Findings without a place come last. */
function order(place: Place | null): number {
  return place?.order ?? Number.MAX_SAFE_INTEGER;
}

const MAX_FINDINGS = 100;
const MAX_NOTES = 20;
