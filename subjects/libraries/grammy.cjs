// A bot with grammY, which calls https://api.telegram.org with node-fetch, or with Bun's own fetch.
const { Bot } = require('grammy');
const { TOKEN, answer } = require('./claude.cjs');

const bot = new Bot(TOKEN);
bot.on('message:text', async (context) => context.reply(await answer(context.message.text)));
bot.start();
