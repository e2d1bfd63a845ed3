import { createLedger, type Ledger } from "./ledger.ts";
import { Complaint } from "./records.ts";
import { createPulse, type Pulse } from "./pulse.ts";

/** What all ends of a conversation share. */
export interface Stage {
  readonly ledger: Ledger;
  readonly pulse: Pulse;
  /** What happened, line by line, for whoever has to understand it. */
  readonly trace: readonly string[];
  /** What went wrong first. */
  readonly complaint: string | null;
  note(text: string): void;
  /** Runs what an end does when it hears something. What goes wrong there ends the conversation. */
  hear(act: () => void): void;
  complain(text: string): void;
}

/** Sets a stage on which nothing may take longer than `limitMs`. */
export function createStage(policy: number, limitMs: number): Stage {
  const pulse = createPulse(limitMs);
  const trace: string[] = [];
  const stage: Stage & { complaint: string | null } = {
    ledger: createLedger(policy),
    pulse,
    trace,
    complaint: null,
    note: (text) => void trace.push(text.length > 300 ? `${text.slice(0, 200)}… (${text.length} characters)` : text),
    complain(text) {
      stage.complaint ??= text;
      stage.note(`WRONG: ${text}`);
      pulse.beat();
    },
    hear(act) {
      pulse.beat();
      try {
        act();
      } catch (error) {
        if (!(error instanceof Complaint)) throw error;
        stage.complain(error.message);
      }
    },
  };
  return stage;
}
