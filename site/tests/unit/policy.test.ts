import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Item } from "../../src/objects.ts";
import { compiled, Runner, TimedOut } from "../../src/policy.ts";
import type { Task } from "../../src/worker.ts";

/** For each worker, in the order in which the page makes them: the milliseconds that it needs. */
let needs: { start: number; task: number }[] = [];
let ended = 0;

vi.mock("../../src/worker.ts?worker&inline", () => ({
  default: class {
    #needs = needs.shift() ?? { start: 0, task: 0 };
    #timers: ReturnType<typeof setTimeout>[] = [];
    onmessage?: (event: { data: unknown }) => void;

    postMessage({ id, task }: { id: number; task: Task }) {
      const { start, task: other } = this.#needs;
      const after = task.task === "start" ? start : other;
      const answer = () => this.onmessage?.({ data: { id, result: { valid: true } } });
      this.#timers.push(setTimeout(answer, after));
    }

    terminate() {
      for (const timer of this.#timers) clearTimeout(timer);
      ended++;
    }
  },
}));

beforeEach(async () => {
  await compiled;
  ended = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const evaluate = (runner: Runner) => runner.evaluate({} as Item, {}, {});

test.each([
  ["a slow start of the worker is not counted", [{ start: 9000, task: 1900 }], 0],
  [
    "a task that takes too long is tried once more, in a new worker",
    [
      { start: 0, task: 2100 },
      { start: 9000, task: 1900 },
    ],
    1,
  ],
])("%s", async (_, times, interruptions) => {
  for (const ask of [evaluate, (runner: Runner) => runner.settings({})]) {
    ended = 0;
    needs = [...times];
    const triesAgain = vi.fn();
    const answer = ask(new Runner(triesAgain));
    await vi.runAllTimersAsync();
    expect(await answer).toEqual({ valid: true });
    expect(triesAgain).toHaveBeenCalledTimes(interruptions);
    expect(ended).toBe(interruptions);
  }
});

test("a task that takes too long twice has timed out, and the next one gets a new worker", async () => {
  needs = [
    { start: 0, task: 2100 },
    { start: 0, task: 2100 },
    { start: 0, task: 1 },
  ];
  const runner = new Runner();
  const error = evaluate(runner).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await error).toBeInstanceOf(TimedOut);
  const answer = runner.settings({});
  await vi.runAllTimersAsync();
  expect(await answer).toEqual({ valid: true });
  expect(ended).toBe(2);
});
