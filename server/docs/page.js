// Shows this server's own OpenAPI document. Nothing is loaded from elsewhere:
// the validator, which is a service on the web, stays off. The origin leaves
// out a password that the page's own address may have: fetch takes none.
const address = location.origin + "/_/openapi.json";
const root = document.getElementById("page");
SwaggerUIBundle({
  url: address,
  domNode: root,
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  // Rules for simulated answers do not apply to this page. Answers have the form that it describes.
  requestInterceptor: (request) => {
    if (new URL(request.url, location.href).origin === location.origin) request.headers["Pickup-Page"] = "docs";
    return request;
  },
  // A server with --no-page has no page to go back to.
  responseInterceptor: (response) => {
    if (response.url === address && !JSON.parse(response.text).paths["/_"]) document.querySelector(".home").removeAttribute("href");
    return response;
  },
});

// The title is a heading of the first level, those of the collections are of the
// third. The viewer has a main landmark of its own, within that of this page, and
// links to operations in the buttons that open them. Inputs are named by their row.
// Examples that are wider than the page can be scrolled with the keyboard.
new MutationObserver(() => {
  for (const heading of root.querySelectorAll(":is(h3, h4, h5):not([aria-level])")) heading.ariaLevel = heading.tagName[1] - 1;
  for (const main of root.querySelectorAll("main:not([role])")) main.role = "group";
  for (const link of root.querySelectorAll("button a[href]")) link.removeAttribute("href");
  for (const input of root.querySelectorAll("[data-param-name] :is(input, select, textarea):not([aria-label])")) {
    input.ariaLabel = input.closest("[data-param-name]").dataset.paramName;
  }
  for (const example of root.querySelectorAll("pre.example:not([tabindex])")) example.tabIndex = 0;
}).observe(root, { childList: true, subtree: true });
