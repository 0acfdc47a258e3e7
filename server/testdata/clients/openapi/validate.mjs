// Holds db.json against the rules with a validator that knows nothing of
// pickup: validate.mjs SCHEMA DATA. What it finds is printed as JSON.
import Ajv from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";

const [schema, data] = process.argv.slice(2).map((name) => JSON.parse(readFileSync(name, "utf8")));
const ajv = new Ajv.default({ strict: false, allErrors: true, logger: false, formats: { email: true } });
if (!ajv.validateSchema(schema)) throw new Error("by the meta-schema this is no schema: " + ajv.errorsText());
const validate = ajv.compile(schema);
console.log(validate(data) ? "all is well" : JSON.stringify(validate.errors));
