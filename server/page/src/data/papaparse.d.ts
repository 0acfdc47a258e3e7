// The part of papaparse that the page uses.
declare module "papaparse" {
  interface Row {
    data: string[];
    errors: { message: string }[];
    meta: { cursor: number; delimiter: string };
  }
  interface Options {
    delimiter?: string | undefined;
    delimitersToGuess?: string[];
    skipEmptyLines?: boolean;
    step: (row: Row) => void;
  }
  const papa: { parse: (text: string, options: Options) => void };
  export default papa;
}
