// An example of tests with clitape: `npx vitest run`. The subject is in clitape.toml.
import { afterAll, expect, test } from "vitest";
import { start } from "./clitape.cjs";

const clitape = start({ subject: "my-gateway" });
afterAll(() => clitape.close());

test("a person sees the answer, and nothing is wrong", async () => {
  const chat = await clitape.play("three-tools");
  expect(chat.findings).toEqual([]);
  expect(chat.messages).toHaveLength(1);
  expect(chat.final_text).toContain("port 8081");
}, 120_000);

test("a recording that is not there is an error that says what to do", async () => {
  await expect(clitape.play("three-tolls")).rejects.toThrow("three-tools");
}, 120_000);
