// Shows this server's own OpenAPI document. Nothing is loaded from elsewhere:
// the validator, which is a service on the web, stays off.
SwaggerUIBundle({
  url: "/_/openapi.json",
  dom_id: "#page",
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
});
