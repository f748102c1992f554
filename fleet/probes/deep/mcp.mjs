// Stands in for `mempalace-mcp`: the scratch palace over stdio, one JSON-RPC message a line.

import fs from "node:fs";
import { createInterface } from "node:readline";
import { Palace } from "./palace.mjs";

const log = process.env.FLEET_DEEP_STDIO ?? "/dev/null";
const note = (value) => fs.appendFileSync(log, `${JSON.stringify(value)}\n`);

note({ started: true });
const palace = new Palace(process.env.FLEET_DEEP_PALACE ?? "", [], (call) => note({ call }));
for await (const line of createInterface({ input: process.stdin })) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    continue;
  }
  note({ method: String(message?.method) });
  const reply = palace.answer(message);
  if (reply !== undefined) process.stdout.write(`${JSON.stringify(reply)}\n`);
}
