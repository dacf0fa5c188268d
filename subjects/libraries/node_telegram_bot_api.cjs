// A bot with node-telegram-bot-api, which calls https://api.telegram.org with a fork of the package `request`.
const TelegramBot = require('node-telegram-bot-api');
const { TOKEN, answer } = require('./claude.cjs');

const bot = new TelegramBot(TOKEN, { polling: true });
bot.on('message', async (message) => bot.sendMessage(message.chat.id, await answer(message.text)));
