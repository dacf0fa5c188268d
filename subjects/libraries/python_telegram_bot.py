"""A bot with python-telegram-bot, which calls https://api.telegram.org with httpx."""
import asyncio
from claude import TOKEN, answer
from telegram.ext import Application, MessageHandler, filters

async def reply(update, context):
    await update.message.reply_text(await asyncio.to_thread(answer, update.message.text))

application = Application.builder().token(TOKEN).build()
application.add_handler(MessageHandler(filters.TEXT, reply))
application.run_polling()
