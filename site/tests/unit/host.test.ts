import { expect, test, vi } from "vitest";
import { Guest } from "../../src/host.ts";
import { policy } from "../policy.ts";

const call = (guest: Guest, operation: string) =>
  new TextDecoder().decode(
    guest.call(operation, new TextEncoder().encode("{}"), () => new Uint8Array()),
  );

test("the message of a guest's error is shown", () => {
  expect(() => call(new Guest(policy), "none")).toThrow(/none/);
});

test("after a trap, the next call gets a fresh instance", () => {
  const trap = () => {
    throw new WebAssembly.RuntimeError("unreachable");
  };
  vi.spyOn(WebAssembly, "Instance").mockImplementationOnce(function () {
    return { exports: { __guest_call: trap } };
  });
  const guest = new Guest(policy);
  expect(() => call(guest, "validate_settings")).toThrow("unreachable");
  vi.restoreAllMocks();
  expect(call(guest, "validate_settings")).toContain('"valid":true');
});
