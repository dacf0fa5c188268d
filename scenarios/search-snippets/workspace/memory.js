// An MCP server on stdio with one tool, `search_memory`, that gives its hits as JSON text.
const hits = {
  content: [
    { id: 41, text_content: "The release is on the first Monday of the month." },
    { id: 7, text_content: "Anna signs releases." },
  ],
};
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "lobu", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [
      {
        name: "search_memory",
        description: "Searches what was remembered",
        inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
      },
    ],
  }),
  "tools/call": () => ({ content: [{ type: "text", text: JSON.stringify(hits) }] }),
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
    setTimeout(send, method === "tools/call" ? 300 : 0);
  });
