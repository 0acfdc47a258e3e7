// A request as text to copy: a URL, or code that sends it.

import { parse, stringify } from "./json.ts";

export interface RequestText {
  method: string;
  path: string;
  body?: string | undefined;
  type?: string | undefined;
  tag?: string | undefined; // that the record has to have
  session?: string | undefined;
  answer?: string | undefined; // its type in TypeScript
  headers?: [name: string, value: string][]; // all that it has, instead of those that follow from the rest
}

export interface Language {
  name: string;
  write: (request: RequestText, user?: string) => string;
}

/** Returns the URL of a request, in its session. */
export function urlOf({ path, session }: RequestText): string {
  const isNamed = !session || path.startsWith("/_/s/");
  return location.origin + (isNamed ? "" : "/_/s/" + encodeURIComponent(session)) + path;
}

const jsonType = "application/json";

/** Returns the headers that a request needs. */
function headersOf({ body, type = jsonType, tag, headers: all }: RequestText): [name: string, value: string][] {
  if (all) return all;
  const headers: [string, string][] = [];
  if (body) headers.push(["Content-Type", type]);
  if (tag) headers.push(["If-Match", tag]);
  return headers;
}

/** Quotes a word for sh. */
const quote = (word: string): string => "'" + word.replaceAll("'", `'\\''`) + "'";

/** Returns a method as a word for sh. Any client may have sent it, and it may have $ and backticks. */
const methodWord = (method: string): string => (/^[A-Z]+$/.test(method) ? method : quote(method));

/** Returns an expression for a body: a value if JavaScript would write it as it is, otherwise a text. */
function literalOf(body: string): string {
  const text = body.trim();
  try {
    if (JSON.stringify(JSON.parse(text)) === stringify(parse(text)) && !text.includes('"__proto__"')) {
      return `JSON.stringify(${text.replaceAll("\n", "\n  ")})`;
    }
  } catch {
    // It is not JSON.
  }
  return JSON.stringify(text);
}

function writeFetch(request: RequestText): string {
  const options: string[] = [];
  if (request.method !== "GET") options.push(`  method: ${JSON.stringify(request.method)},`);
  const headers = headersOf(request).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  if (headers.length > 0) options.push(`  headers: { ${headers.join(", ")} },`);
  if (request.body) options.push(`  body: ${literalOf(request.body)},`);
  const more = options.length > 0 ? `, {\n${options.join("\n")}\n}` : "";
  const data = request.answer ? "data: " + request.answer : "data";
  return `const response = await fetch(${JSON.stringify(urlOf(request))}${more});\nconst ${data} = await response.json();`;
}

/** Writes a call of a library that has a method for each method of HTTP, as axios and ky have. */
function writeCall(
  request: RequestText,
  library: string,
  writeOptions: (body: string, headers: string) => string,
): string {
  const { method, body } = request;
  const headers = headersOf(request)
    .filter(([name, value]) => name !== "Content-Type" || value !== jsonType)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const options = writeOptions(
    body ? valueOf(body) : "",
    headers.length > 0 ? `headers: { ${headers.join(", ")} }` : "",
  );
  const known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].includes(method);
  const name = known ? `${library}.${method.toLowerCase()}` : library;
  return `${name}(${[JSON.stringify(urlOf(request)), options].filter(Boolean).join(", ")})`;
}

/** Returns a body as an expression: its value, or its text. */
const valueOf = (body: string): string => literalOf(body).replace(/^JSON\.stringify\(([^]*)\)$/, "$1");

function writeAxios(request: RequestText): string {
  const call = writeCall(request, "axios", (body, headers) => {
    const options = headers && `{ ${headers} }`;
    return ["GET", "HEAD", "DELETE"].includes(request.method)
      ? options
      : [body || "undefined", options].filter(Boolean).join(", ");
  });
  return `const { data } = await ${request.answer ? call.replace("(", `<${request.answer}>(`) : call};`;
}

function writeKy(request: RequestText): string {
  const call = writeCall(request, "ky", (body, headers) => {
    const parts = [body && `json: ${body}`, headers].filter(Boolean);
    return parts.length > 0 ? `{ ${parts.join(", ")} }` : "";
  });
  return `const data = await ${call}.json${request.answer ? `<${request.answer}>` : ""}();`;
}

/** Writes a command for sh. It has the name of the user but not the password, for which curl asks. */
function writeCurl(request: RequestText, user?: string): string {
  const words = ["curl"];
  if (user) words.push("-u", quote(user));
  if (request.method === "HEAD") words.push("--head");
  else if (request.method !== "GET") words.push("-X", methodWord(request.method));
  for (const [name, value] of headersOf(request)) {
    if (value !== jsonType) words.push("-H", quote(name + ": " + value));
  }
  if (request.body)
    words.push(
      headersOf(request).some(([, value]) => value === jsonType) ? "--json" : "--data-binary",
      quote(request.body),
    );
  if (/[[\]{}]/.test(request.path)) words.push("--globoff");
  words.push(quote(urlOf(request)));
  return words.join(" ");
}

export const languages: Language[] = [
  { name: "URL", write: urlOf },
  { name: "fetch", write: writeFetch },
  { name: "curl", write: writeCurl },
  { name: "axios", write: writeAxios },
  { name: "ky", write: writeKy },
];
