// A bot that calls the Bot API with `fetch`.
const { TOKEN, answer } = require('./claude.cjs');

async function call(method, parameters) {
  const headers = { 'Content-Type': 'application/json' };
  const url = `https://api.telegram.org/bot${TOKEN}/${method}`;
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(parameters) })).json();
}

(async () => {
  for (let offset = 0; ; ) {
    for (const update of (await call('getUpdates', { offset, timeout: 20 })).result) {
      offset = update.update_id + 1;
      const { chat, text } = update.message ?? {};
      if (text) await call('sendMessage', { chat_id: chat.id, text: await answer(text) });
    }
  }
})();
