// Builds the command (one CommonJS file and the chunks that it loads later) and the library (file by file, with types).
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
// Builds next to the last build, which may be in use, and then replaces it.
const dist = join(root, "dist");
const next = join(root, `dist.${process.pid}`);
await buildCommand();
buildLibrary();
rmSync(dist, { recursive: true, force: true });
renameSync(next, dist);

/**
 * A CommonJS bundle starts in half the time of modules. A module that is imported with import() becomes a file of its
 * own, loaded when used.
 */
async function buildCommand() {
  const outdir = join(next, "command");
  const late = new Map();
  // Modules of users may be CommonJS or ESM, so they are loaded by a real import().
  const importer = join(root, "src", "action", "import-module.ts");
  const splitLate = {
    name: "split-late",
    setup(builder) {
      builder.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
        const file = resolve(resolveDir, path);
        if (kind !== "dynamic-import") return undefined;
        const name = `${relative(join(root, "src"), file).replaceAll(/[\\/]/g, "-").replace(/\.ts$/, "")}.cjs`;
        late.set(file, name);
        return { path: `./${name}`, external: true };
      });
      // The same for a package, once for all files that use it.
      builder.onResolve({ filter: /^[@a-z]/ }, async ({ kind, path, resolveDir }) => {
        if (kind !== "dynamic-import" || path.startsWith("node:")) return undefined;
        const found = await builder.resolve(path, { kind: "import-statement", resolveDir });
        const name = `${path.replace(/^@/, "").replaceAll("/", "-")}.cjs`;
        late.set(found.path, name);
        return { path: `./${name}`, external: true };
      });
    },
  };
  const options = {
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "cjs",
    define: { FAIRLEAD_VERSION: JSON.stringify(version) },
    legalComments: "none",
    plugins: [splitLate],
    logLevel: "warning",
    metafile: true,
    // Chunks that are loaded later are CommonJS too: require() takes a fraction of the time in which import() looks for
    // their exports.
    supported: { "dynamic-import": false },
    absWorkingDir: root,
  };
  const main = join(outdir, "fairlead.cjs");
  const parts = [];
  parts.push(
    await build({
      ...options,
      entryPoints: [join(root, "src", "cli", "fairlead.ts")],
      outfile: main,
      banner: { js: "#!/usr/bin/env node" },
    }),
  );
  chmodSync(main, 0o755);
  const built = new Set();
  while (built.size < late.size) {
    for (const [file, name] of late) {
      if (built.has(file)) continue;
      built.add(file);
      const supported = file === importer ? {} : options.supported;
      parts.push(
        await build({
          ...options,
          supported,
          plugins: file === importer ? [] : options.plugins,
          entryPoints: [file],
          outfile: join(outdir, name),
        }),
      );
    }
  }
  writeFileSync(join(outdir, "package.json"), '{ "type": "commonjs" }\n');
  writeFileSync(join(outdir, "THIRD-PARTY-NOTICES.txt"), composeNotices(parts));
}

/** The licences of the packages in the command. A package without a licence is refused. */
function composeNotices(parts) {
  const inputs = parts.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const folders = inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []);
  const notices = [...new Set(folders)].map((folder) => {
    const { name, version: theirs, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const file = readdirSync(join(root, folder)).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`${folder} has no licence, so it cannot be part of the command`);
    return `${name} ${theirs} (${license})\n\n${readFileSync(join(root, folder, file), "utf8").trim()}\n`;
  });
  return ["The command contains these packages.\n", ...notices].join(`\n${"-".repeat(80)}\n\n`);
}

function buildLibrary() {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status } = spawnSync(
    process.execPath,
    [tsc, "-p", "tsconfig.build.json", "--outDir", join(next, "library")],
    {
      cwd: root,
      stdio: ["ignore", 2, 2],
    },
  );
  if (status !== 0) process.exit(status ?? 1);
}
