// Shows this server's own OpenAPI document. Nothing is loaded from elsewhere:
// the validator, which is a service on the web, stays off. The origin leaves
// out a password that the page's own address may have: fetch takes none.
SwaggerUIBundle({
  url: location.origin + "/_/openapi.json?all",
  dom_id: "#page",
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
});
