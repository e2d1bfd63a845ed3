import { main } from "./main.ts";
import { complain } from "./output.ts";

void main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  async (error: unknown) => {
    await complain(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
