// An MCP server on stdio with one tool, `snapshot`, which takes its time and gives an image.
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "camera", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [
      {
        name: "snapshot",
        description: "Takes a picture",
        inputSchema: { type: "object", properties: { zoom: { type: "number" } } },
      },
    ],
  }),
  "tools/call": () => ({
    content: [
      { type: "text", text: "One picture, one pixel." },
      { type: "image", data: PNG, mimeType: "image/png" },
    ],
  }),
};
require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const answer = answers[method];
    const body = answer
      ? { result: answer(params ?? {}) }
      : { error: { code: -32601, message: `there is no ${method}` } };
    const send = () => console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    setTimeout(send, method === "tools/call" ? 600 : 0);
  });
