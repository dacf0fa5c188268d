// A bot with telegraf, which calls https://api.telegram.org with node-fetch.
const { Telegraf } = require('telegraf');
const { TOKEN, answer } = require('./claude.cjs');

const bot = new Telegraf(TOKEN);
bot.on('text', async (context) => context.reply(await answer(context.message.text)));
bot.launch();
