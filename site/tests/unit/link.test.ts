import { expect, test } from "vitest";
import { fromFragment, toFragment } from "../../src/link.ts";

const typed = {
  object: "kind: Pod # ä 🙂\n".repeat(50),
  settings: 'mode: "Fix"',
  question: {
    incident: { what: "registry" as const, name: "docker.io", moment: "reboot" as const },
    choice: { registries: [], namespaces: null, isMonitor: false },
  },
  preset: "jobs",
};

test("a link restores the typed texts, and is short", async () => {
  const fragment = await toFragment(typed);
  expect(fragment).toMatch(/^1=[\w-]+$/);
  expect(fragment.length).toBeLessThan(typed.object.length / 2);
  expect(await fromFragment(`#${fragment}`)).toEqual(typed);
});

test("a fragment of another page is no link", async () => {
  expect(await fromFragment("")).toBeUndefined();
  expect(await fromFragment("#settings")).toBeUndefined();
});

test.each(["#1=", "#1=!!!", "#1=abcd"])("a damaged link says so: %s", async (fragment) => {
  await expect(fromFragment(fragment)).rejects.toThrow("the link is damaged");
});

test("a damaged link gives an error", async () => {
  const fragment = await toFragment(typed);
  await expect(fromFragment(fragment.slice(0, -20))).rejects.toThrow("the link is damaged");
});
