"""A bot with aiogram, which calls https://api.telegram.org with aiohttp and trusts what certifi lists."""
import asyncio
from aiogram import Bot, Dispatcher
from claude import TOKEN, answer

dispatcher = Dispatcher()

@dispatcher.message()
async def reply(message):
    await message.answer(await asyncio.to_thread(answer, message.text))

asyncio.run(dispatcher.start_polling(Bot(TOKEN)))
