// Tables as text, for spreadsheets.
import { isObject, stringify, type Json } from "./json.ts";
import { typedOf } from "./schema.ts";

/** Returns the cells of a table that a spreadsheet has copied. */
export async function readTable(text: string): Promise<string[][]> {
  const whole = text.replace(/\r?\n$/, "");
  if (whole.includes('"')) {
    const { readLines } = await import("./csv.ts");
    try {
      return readLines(whole, "\t").map(({ cells }) => cells);
    } catch {
      // The quotation marks are part of the texts.
    }
  }
  return whole.split(/\r?\n/).map((line) => line.split("\t"));
}

/** Returns values as a table, with tabs between them, or commas (RFC 4180). */
export function writeTable(lines: (Json | undefined)[][], separator = "\t"): string {
  const cell = (value: Json | undefined) => {
    const text = isObject(value) || Array.isArray(value) ? stringify(value) : typedOf(value);
    return /["\r\n]/.test(text) || text.includes(separator) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return lines.map((line) => line.map(cell).join(separator)).join("\r\n");
}
