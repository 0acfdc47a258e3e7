// A request as text to copy: a URL, or code that sends it.

export interface RequestText {
  method: string;
  path: string;
  body?: string | undefined;
  type?: string | undefined;
}

export interface Language {
  name: string;
  write: (request: RequestText, user?: string) => string;
}

const urlOf = (request: RequestText): string => location.origin + request.path;

/** Quotes a word for sh. */
const quote = (word: string): string => "'" + word.replaceAll("'", `'\\''`) + "'";

function writeFetch(request: RequestText): string {
  const options: string[] = [];
  if (request.method !== "GET") options.push(`  method: ${JSON.stringify(request.method)},`);
  if (request.body) {
    const type = JSON.stringify(request.type ?? "application/json");
    options.push(`  headers: { "Content-Type": ${type} },`);
    options.push(`  body: JSON.stringify(${request.body.trim().replaceAll("\n", "\n  ")}),`);
  }
  const more = options.length > 0 ? `, {\n${options.join("\n")}\n}` : "";
  return `const response = await fetch(${JSON.stringify(urlOf(request))}${more});\nconst data = await response.json();`;
}

/** Writes a command for sh. It has the name of the user but not the password, for which curl asks. */
function writeCurl(request: RequestText, user?: string): string {
  const words = ["curl"];
  if (user) words.push("-u", quote(user));
  if (request.method !== "GET") words.push("-X", request.method);
  if (request.body) {
    if (request.type && request.type !== "application/json") {
      words.push("-H", quote("Content-Type: " + request.type), "--data-binary");
    } else words.push("--json");
    words.push(quote(request.body));
  }
  if (/[[\]{}]/.test(request.path)) words.push("--globoff");
  words.push(quote(urlOf(request)));
  return words.join(" ");
}

function writeHTTPie(request: RequestText): string {
  const body = request.body ? ` <<< ${quote(request.body)}` : "";
  const type = request.body && request.type ? " " + quote("Content-Type:" + request.type) : "";
  return `http ${request.method} ${quote(urlOf(request))}${type}${body}`;
}

export const languages: Language[] = [
  { name: "URL", write: urlOf },
  { name: "fetch", write: writeFetch },
  { name: "curl", write: writeCurl },
  { name: "HTTPie", write: writeHTTPie },
];
