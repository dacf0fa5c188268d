// Runs `claude` for the bots in JavaScript of this folder.
const { execFile } = require('node:child_process');

exports.TOKEN = process.env.TELEGRAM_TOKEN;

/** Returns the answer to a prompt. */
exports.answer = (prompt) =>
  new Promise((resolve) => {
    const options = ['-p', prompt, '--output-format', 'stream-json', '--verbose'];
    const limits = { maxBuffer: 64 << 20 };
    const child = execFile(process.env.CLAUDE_BIN ?? 'claude', options, limits, (error, stdout) => {
      const records = stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
      const result = records.findLast((record) => record.type === 'result');
      resolve(result?.result ?? `claude ended without an answer (${error?.message}).`);
    });
    child.stdin.end();
  });
