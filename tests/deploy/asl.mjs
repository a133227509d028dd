// Reads a state machine with a validator of the Amazon States Language. Arguments: the folder of the validator, the file.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, file] = process.argv.slice(2);
const validate = createRequire(import.meta.url)(new URL(`../../${folder}`, import.meta.url).pathname);
const { isValid, errors } = validate(JSON.parse(readFileSync(file, "utf8")));
if (!isValid) {
  console.error(JSON.stringify(errors, null, 2));
  process.exit(1);
}
