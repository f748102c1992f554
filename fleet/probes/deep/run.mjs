// The deep check: run this machine's own pi against a scratch palace and a fake model, and tell
// what it did: run.mjs FOLDER. Reads FOLDER/config.json, writes FOLDER/result, leaves no process.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Children } from "./children.mjs";
import { isCompiled, knownEvents, packageOf, secretsOf, which } from "./surroundings.mjs";
import { Servers } from "./servers.mjs";
import { Check } from "./check.mjs";
import { trimmed } from "./told.mjs";
import { tried } from "./trials.mjs";

const MARGIN_SECONDS = 1.5;
// The share of the time that servers get where pi is run as well.
const SERVERS_SHARE = 0.4;
const WATCH_MS = 250;

const folder = process.argv[2];
const config = JSON.parse(fs.readFileSync(path.join(folder, "config.json"), "utf8"));
const mark = `FLEET_DEEP_MARK=${randomBytes(12).toString("hex")}`;
const children = new Children(mark, path.join(folder, "groups"));
const servers = new Servers();
const hidden = [];
const janitor = hireJanitor();
let over = false;

/** Ends what is left, and the folder, should this process be killed. */
function hireJanitor() {
  fs.writeFileSync(path.join(folder, "groups"), "");
  const script = `while kill -0 "$1" 2>/dev/null; do sleep 0.3 2>/dev/null || sleep 1; done
while read -r g; do kill -9 -"$g" 2>/dev/null; done <"$2/groups"
rm -rf "$2"`;
  const words = ["-c", script, "fleet-deep", String(process.pid), folder];
  const hired = spawn("/bin/sh", words, { detached: true, stdio: "ignore", cwd: "/" });
  hired.unref();
  return hired;
}

async function finish(result, status) {
  if (over) return;
  over = true;
  const escaped = await children.end();
  servers.close();
  if (result) {
    const own = { ...result, escaped, milliseconds: Math.round(performance.now()) };
    const text = trimmed(own, { folder, agent: result.agent_dir ?? "", secrets: secretsOf(process.env, hidden) });
    fs.writeFileSync(path.join(folder, "result.new"), text);
    fs.renameSync(path.join(folder, "result.new"), path.join(folder, "result"));
  }
  children.kill(janitor.pid);
  if (!result) fs.rmSync(folder, { recursive: true, force: true });
  process.exit(status);
}

/** Whether the shell that waits for the answer, and would remove the folder, is gone. */
function isAbandoned() {
  if (process.ppid !== parent) return true;
  try {
    process.kill(Number(process.env.FLEET_DEEP_SHELL), 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

const parent = process.ppid;
setInterval(() => isAbandoned() && void finish(undefined, 3), WATCH_MS).unref();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => void finish(undefined, 3));

function unsupported(why) {
  return { state: "unsupported", why };
}

async function main() {
  const trials = await tryServers();
  return { ...(config.pi ? await runPi() : unsupported("pi was not asked for")), trials };
}

async function tryServers() {
  if (config.trials.length === 0) return [];
  const seconds = (config.seconds - MARGIN_SECONDS) * (config.pi ? SERVERS_SHARE : 1);
  const told = await tried(config.trials, { folder, own: process.env, mark, children, seconds });
  hidden.push(...told.hidden);
  return told.trials;
}

async function runPi() {
  const own = process.env;
  const found = which("pi", own.PATH ?? "");
  if (found === undefined) return unsupported("there is no pi on the PATH");
  if (isCompiled(found)) return unsupported(`${found} is one compiled program, with no node to run it by`);
  const home = own.HOME || os.homedir();
  const named = own.PI_CODING_AGENT_DIR || config.agent_dir;
  const agent = named === "~" || named.startsWith("~/") ? path.join(home, named.slice(1)) : named;
  if (!fs.existsSync(agent)) return unsupported(`there is no agent folder ${agent}`);
  const pack = packageOf(found);
  await servers.open();
  const check = new Check({
    ...{ folder, config, children, servers, own, home, agent, mark },
    pi: found,
    pack,
    seconds: config.seconds - MARGIN_SECONDS - performance.now() / 1000,
  });
  const told = await check.run();
  return {
    state: "ran",
    node: process.execPath,
    node_version: process.versions.node,
    pi: fs.realpathSync(found),
    pi_version: pack?.version ?? "",
    agent_dir: agent,
    known_events: pack ? knownEvents(pack.root) : [],
    ...told,
  };
}

main().then(
  (result) => finish(result, 0),
  (error) => finish(unsupported(`the check itself failed: ${error?.message ?? error}`), 1),
);
