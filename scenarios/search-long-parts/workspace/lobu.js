// An MCP server on stdio with one tool, `search_memory`.
const long = "It was cut on a Monday and shipped on a Friday. ".repeat(200).trim();
const hits = { content: [{ id: 7, text_content: "Anna signs releases." }, { id: 41, text_content: long }, { id: 43, text_content: "Bob packs them." }] };
const result = { content: [{ type: "text", text: "Three notes were found." }, { type: "text", text: JSON.stringify(hits) }] };
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
