// An MCP server on stdio with one tool, `status`.
const reason = "The build server is out of order, and so is the one that takes its place; ";
const result = { isError: true, content: [{ type: "text", text: reason.repeat(6) + "ask again tomorrow." }] };
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "builds", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [{ name: "status", description: "Tells how a build goes", inputSchema: { type: "object" } }] }),
  "tools/call": () => result,
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
    setTimeout(send, method === "tools/call" ? 500 : 0);
  });
