"""A bot with pyTelegramBotAPI, which calls https://api.telegram.org with requests."""
import telebot
from claude import TOKEN, answer

bot = telebot.TeleBot(TOKEN)

@bot.message_handler(func=lambda message: True)
def reply(message):
    bot.send_message(message.chat.id, answer(message.text))

bot.infinity_polling()
