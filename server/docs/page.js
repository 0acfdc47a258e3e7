// Shows this server's own OpenAPI document. Nothing is loaded from elsewhere:
// the validator, which is a service on the web, stays off. The origin leaves
// out a password that the page's own address may have: fetch takes none.
const root = document.getElementById("page");
const headers = { "Pickup-Page": "1" }; // rules for simulated answers do not apply to this page
const manyTags = 6;

// What people use first: the records, and of the service these.
const common = ["get /db", "get /_/changes"];

const withParameters = (operation, parameters) =>
  operation.responses ? { ...operation, parameters: [...(operation.parameters ?? []), ...parameters] } : operation;

/** Returns the document with what people use first, or with everything. The small print has a place of its own. */
function part(document, isAll) {
  const { description, contact, license, ...info } = document.info;
  const servers = document.servers.map((server) => ({ ...server, url: new URL(server.url, location.origin).href.replace(/\/$/, "") }));
  const isShown = (path, method, { tags = [] }) =>
    isAll || common.includes(method + " " + path) || !(tags.includes("service") || (method === "post" && /\}\//.test(path)));
  // The viewer does not resolve the parameters of a path, and shows them without a name.
  const resolved = (parameter) => (parameter.$ref ? document.components.parameters[parameter.$ref.split("/").pop()] : parameter);
  const paths = Object.entries(document.paths).map(([path, { parameters = [], ...operations }]) => [
    path,
    Object.fromEntries(
      Object.entries(operations)
        .filter(([method, operation]) => !operation.responses || isShown(path, method, operation))
        .map(([method, operation]) => [method, withParameters(operation, parameters.map(resolved))]),
    ),
  ]);
  const hasSome = (operations) => Object.values(operations).some((operation) => operation.responses);
  return { ...document, info, servers, paths: Object.fromEntries(paths.filter(([, operations]) => hasSome(operations))) };
}

/** Shows what the document says of all requests, after the operations. */
function showSmallPrint(text) {
  const [first, ...points] = text.replaceAll(/\\(?=[_*])/g, "").split("\n- ");
  const list = document.querySelector("#small-print ul");
  document.querySelector("#small-print p").textContent = first;
  list.append(...points.map((point) => Object.assign(document.createElement("li"), { textContent: point })));
  document.getElementById("small-print").hidden = false;
}

async function openDocument() {
  const answer = await fetch(location.origin + "/_/openapi.json", { headers });
  const whole = await answer.json();
  if (!answer.ok) throw new Error(whole.detail);
  const isAll = /^#\/service\b/.test(location.hash); // a link to something that is rarely used
  const ui = SwaggerUIBundle({
    spec: part(whole, isAll),
    domNode: root,
    deepLinking: true,
    validatorUrl: null,
    tryItOutEnabled: true,
    docExpansion: whole.tags.length > manyTags ? "none" : "list",
    defaultModelsExpandDepth: -1,
    requestInterceptor: (request) => {
      if (new URL(request.url, location.href).origin === location.origin) Object.assign(request.headers, headers);
      return request;
    },
  });
  const all = document.getElementById("all");
  all.hidden = isAll;
  all.addEventListener("click", () => {
    ui.specActions.updateSpec(JSON.stringify(part(whole, true)));
    all.hidden = true;
  });
  // A server with --no-page has no page to go back to.
  if (!whole.paths["/_"]) document.querySelector(".home").removeAttribute("href");
  showSmallPrint(whole.info.description);
}

// The title is a heading of the first level, those of the collections are of the
// third. The viewer has links to operations in the buttons that open them. Inputs are
// named by their row. Examples that are wider than the page can be scrolled with the
// keyboard.
new MutationObserver(() => {
  for (const heading of root.querySelectorAll(":is(h3, h4, h5):not([aria-level])")) heading.ariaLevel = heading.tagName[1] - 1;
  for (const title of root.querySelectorAll(".information-container:not([role])")) Object.assign(title, { role: "region", ariaLabel: "This API" });
  for (const link of root.querySelectorAll("button a[href]")) link.removeAttribute("href");
  for (const input of root.querySelectorAll("[data-param-name] :is(input, select, textarea):not([aria-label])")) {
    input.ariaLabel = input.closest("[data-param-name]").dataset.paramName;
  }
  for (const select of root.querySelectorAll(".servers select:not([aria-label])")) select.ariaLabel = "Server";
  for (const select of root.querySelectorAll(".content-type:not([aria-label])")) select.ariaLabel = "Type of the content";
  for (const example of root.querySelectorAll("pre.example:not([tabindex])")) example.tabIndex = 0;
}).observe(root, { childList: true, subtree: true });

openDocument().catch((error) => {
  root.textContent = "The document could not be loaded. " + error.message;
});
