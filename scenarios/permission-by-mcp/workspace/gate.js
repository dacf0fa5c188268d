// An MCP server on stdio with one tool, `ask`, which a person answers with yes after 20 seconds.
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "gate", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [
      {
        name: "ask",
        description: "Asks a person whether a tool may run",
        inputSchema: {
          type: "object",
          properties: { tool_name: { type: "string" }, input: { type: "object" }, tool_use_id: { type: "string" } },
          required: ["tool_name", "input"],
        },
      },
    ],
  }),
  "tools/call": ({ arguments: { input } }) => ({
    content: [{ type: "text", text: JSON.stringify({ behavior: "allow", updatedInput: input }) }],
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
    setTimeout(send, method === "tools/call" ? 20_000 : 0);
  });
