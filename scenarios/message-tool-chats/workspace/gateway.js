// An MCP server on stdio with one tool, `message`.
const text = (text, isError) => ({ content: [{ type: "text", text }], isError });
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "gateway", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [
      {
        name: "message",
        description: "Sends a message to a chat",
        inputSchema: {
          type: "object",
          properties: { action: { type: "string" }, chats: { type: "array" }, message: { type: "string" } },
          required: ["action"],
        },
      },
    ],
  }),
  "tools/call": () => text("Sent to 3 chats.", false),
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
    setTimeout(send, method === "tools/call" ? 400 : 0);
  });
