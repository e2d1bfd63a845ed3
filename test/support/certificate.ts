import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate that signed itself, and its key: PEM texts and the files they are in. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

const OPENSSL = "openssl";

/** Makes one for these names, such as `DNS:localhost`. */
export function makeCertificate(...names: string[]): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-tls-"));
  const certFile = join(folder, "cert.pem");
  const keyFile = join(folder, "key.pem");
  execFileSync(
    OPENSSL,
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
      "-subj",
      "/CN=fairlead test",
      "-addext",
      `subjectAltName=${names.join(",")}`,
      "-keyout",
      keyFile,
      "-out",
      certFile,
    ],
    { stdio: "pipe" },
  );
  return { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8"), certFile, keyFile };
}
