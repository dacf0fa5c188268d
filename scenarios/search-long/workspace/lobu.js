// An MCP server on stdio with one tool, `search_memory`.
// Forty hits of some 250 characters each.
const hit = (_, i) => ({ id: 100 + i, text_content: `Release ${i}: ` + "it was cut on a Monday and shipped on a Friday. ".repeat(5).trim() });
const result = { content: [{ type: "text", text: JSON.stringify({ content: Array.from({ length: 40 }, hit) }) }] };
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "lobu", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [{ name: "search_memory", description: "Searches what was remembered", inputSchema: { type: "object" } }] }),
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
