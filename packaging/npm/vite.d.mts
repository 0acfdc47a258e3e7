/** Options of the plugin. */
export interface Options {
  /** The file or directory to serve, relative to Vite's root, or a cluster. Default: "db.json". */
  file?: string;
  /** The path of the API. Default: "/api". */
  prefix?: string;
  /** More arguments of "pickup serve", such as ["--port", "3000", "--delay", "200-800"]. */
  args?: string[];
  /** Write the types of the data to this file, and keep them up to date: "src/db.d.ts". */
  types?: string;
}

/**
 * Starts pickup with "vite dev" and "vite preview", passes on requests for the API and for
 * everything under /_/, and stops pickup with Vite.
 */
export default function pickup(options?: Options): { name: string };
