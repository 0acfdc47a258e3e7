// The type of records in TypeScript, as far as their fields tell.
import { stringify } from "./json.ts";
import type { Schemas } from "./api.ts";
import type { Field, Shape } from "./schema.ts";

type Envelope = NonNullable<Schemas["Status"]["answers"]>;

/** Returns the name of the type of one record, as in Post for posts. */
export function typeName(shape: Shape): string {
  const singular = shape.name.replace(/ies$/, "y").replace(/([^s])s$/, "$1");
  const words = singular.match(/[\p{L}\p{N}]+/gu) ?? ["Item"];
  return words
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("")
    .replace(/^(?=\d)/, "_");
}

/** Returns the type of an answer with a record or a list, in the envelope that is in force. */
export function answerType(shape: Shape, isList: boolean, form: Envelope | undefined): string {
  const type = typeName(shape) + (isList ? "[]" : ""),
    field = isList ? form?.list : form?.record;
  if (!field) return type;
  const path = isList && form?.total ? form.total.split(".") : [];
  const total = path.reduceRight((inner, name) => `{ ${nameIn(name)}: ${inner} }`, "number");
  return `{ ${nameIn(field)}: ${type}${path.length > 0 ? "; " + total.slice(2, -2) : ""} }`;
}

/** Writes the name of a member of a type. */
const nameIn = (name: string): string => (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? name : JSON.stringify(name));

export function writeType(shape: Shape): string {
  const lines = shape.fields.map((field) => {
    const isSure = field.required || field.name === shape.key;
    return `  ${nameIn(field.name)}${isSure ? "" : "?"}: ${typeOf(field)}${field.isNullable ? " | null" : ""};`;
  });
  return `interface ${typeName(shape)} {\n${lines.join("\n")}\n}`;
}

function typeOf(field: Field): string {
  switch (field.kind) {
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "choice":
      return field.choices.map((choice) => stringify(choice)).join(" | ");
    case "reference":
      return field.isNumeric ? "number" : "string";
    case "references":
    case "array":
      return "unknown[]";
    case "object":
      return "Record<string, unknown>";
    case "any":
      return "unknown";
  }
  return "string";
}
