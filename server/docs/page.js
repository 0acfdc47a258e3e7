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
  // Rules for simulated answers do not apply to this page.
  requestInterceptor: (request) => {
    if (new URL(request.url, location.href).origin === location.origin) request.headers["Pickup-Page"] = "1";
    return request;
  },
});
