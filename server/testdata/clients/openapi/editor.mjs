// Shows what the language service of VS Code makes of a JSON file whose "$schema"
// names a file: editor.mjs FILE. "<cursor>" in the file is the place to complete.
// Prints the diagnostics and the completions as JSON.
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import service from "vscode-json-languageservice";

const cursor = "<cursor>";
const written = readFileSync(process.argv[2], "utf8");
const uri = pathToFileURL(process.argv[2]).toString();
const document = service.TextDocument.create(uri, "json", 1, written.replace(cursor, ""));
const language = service.getLanguageService({
  schemaRequestService: async (uri) => readFileSync(fileURLToPath(uri), "utf8"),
  workspaceContext: { resolveRelativePath: (path, resource) => new URL(path, resource).toString() },
});
language.configure({ validate: true, allowComments: false });
const parsed = language.parseJSONDocument(document);
const at = document.positionAt(Math.max(0, written.indexOf(cursor)));
const completed = written.includes(cursor) ? await language.doComplete(document, at, parsed) : { items: [] };
console.log(JSON.stringify({
  diagnostics: (await language.doValidation(document, parsed)).map((d) => `${d.range.start.line + 1}: ${d.message}`),
  completions: completed.items.map((item) => item.label),
}));
