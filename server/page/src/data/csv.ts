// Reads comma-separated values (RFC 4180), and what spreadsheets copy. This is a
// bundle of its own, which few people need.
import papa from "papaparse";

export interface Line {
  cells: string[];
  line: number; // of the text, from 1
}

/** Returns the lines of a table, or throws. Without a separator it is found out, and empty lines are left out. */
export function readLines(text: string, separator?: string): Line[] {
  const lines: Line[] = [];
  let fault = "",
    at = 0,
    line = 1;
  papa.parse(text, {
    delimiter: separator,
    delimitersToGuess: [",", ";", "\t", "|"],
    skipEmptyLines: separator === undefined,
    step: ({ data, errors, meta }) => {
      const [error] = errors;
      if (error) fault ||= `Line ${line}: ${error.message.replace(/\.?$/, ".")}`;
      lines.push({ cells: data, line });
      for (; at < meta.cursor; at++) if (text[at] === "\n") line++;
    },
  });
  if (fault) throw new Error(fault);
  return lines;
}
