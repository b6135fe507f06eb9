// The address of this page decides the address of the schema, so that both work behind a proxy's prefix.
window.onload = () => {
  SwaggerUIBundle({ url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null });
};
