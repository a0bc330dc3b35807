// Loaded before Azurite. Arrow's client announces even bodies of no bytes and waits to be told to go on; where the
// answer follows at once it sometimes misses it, and tries again after seconds. So such bodies are answered only.
const http = require("http");
const create = http.createServer;
http.createServer = (...given) => {
  const server = create(...given);
  server.on("checkContinue", (request, response) => {
    if (request.headers["content-length"] !== "0") response.writeContinue();
    server.emit("request", request, response);
  });
  return server;
};
