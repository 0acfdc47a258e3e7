// The type of records in TypeScript, as far as their fields tell.
import { stringify } from "./json.ts";
import type { Field, Shape } from "./schema.ts";

/** Returns the name of the type of one record, as in Post for posts. */
export function typeName(shape: Shape): string {
  const singular = shape.name.replace(/ies$/, "y").replace(/([^s])s$/, "$1");
  const words = singular.match(/[\p{L}\p{N}]+/gu) ?? ["Item"];
  return words
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("")
    .replace(/^(?=\d)/, "_");
}

export function writeType(shape: Shape): string {
  const lines = shape.fields.map((field) => {
    const name = /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(field.name) ? field.name : JSON.stringify(field.name);
    const isSure = field.required || field.name === shape.key;
    return `  ${name}${isSure ? "" : "?"}: ${typeOf(field)}${field.isNullable ? " | null" : ""};`;
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
