// Servers that a client's files declare, started or asked as the client does it, with one
// `initialize`; and opencode's own word on what its files come to. Of a palace that is started
// nothing is real: it gets a home and a palace of its own.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { NotTried, entryOf, environmentOf, headersOf, objectOf, wordsOf } from "./entries.mjs";
import { opencodeEntry } from "./opencode.mjs";
import { environment } from "./surroundings.mjs";

const HELLO = {
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "fleet", version: "1" } },
};
const MAX_ANSWER = 64 * 1024;
const SHOWN = 5;
// An answer that takes so many seconds will not come: clients give up about then. Of one that was
// waited for less, nothing is known.
const LONGEST = 20;
const PATIENCE = 12;
// Programs that fetch what they start keep it below the real home, which is hidden from them.
const CACHES = { UV_CACHE_DIR: ".cache/uv", UV_TOOL_DIR: ".local/share/uv/tools", npm_config_cache: ".npm" };

/** Carry out all trials at once; `hidden` collects what must never be told. */
export async function tried(trials, given) {
  const hidden = [];
  const told = await Promise.all(trials.map((trial) => one(trial, { ...given, hidden })));
  return { trials: told, hidden };
}

async function one(trial, given) {
  const started = performance.now();
  let told;
  try {
    const seconds = trial.kind === "opencode" ? given.seconds : Math.min(given.seconds, LONGEST);
    told = await KINDS[trial.kind](trial, { ...given, seconds });
  } catch (error) {
    const why = error instanceof NotTried ? error.message : `the trial itself failed: ${error?.message ?? error}`;
    told = { state: "untried", why };
  }
  return { key: trial.key, ...told, milliseconds: Math.round(performance.now() - started) };
}

const KINDS = { stdio, http, opencode: opencodeEntry };

async function stdio(trial, { folder, own, mark, children, seconds, hidden }) {
  const entry = entryOf(trial, own, hidden);
  const root = path.join(folder, "trials", String(trial.number));
  const at = (name) => path.join(root, name);
  for (const name of ["home", "work", "tmp"]) fs.mkdirSync(at(name), { recursive: true });
  const scratch = at("palace");
  const [program, ...words] = wordsOf(entry, trial.form, scratch);
  const env = environment(own, at("home"), {
    ...caches(own),
    TMPDIR: at("tmp"),
    ...environmentOf(entry, hidden),
    MEMPALACE_PALACE_PATH: scratch,
    ...Object.fromEntries([mark.split("=")]),
  });
  return talk(children, spawnIn(program, words, { env, cwd: at("work") }), seconds);
}

function caches(own) {
  const home = own.HOME ?? "/";
  const there = Object.entries(CACHES).map(([name, below]) => [name, own[name] ?? path.join(home, below)]);
  return Object.fromEntries(there.filter(([, at]) => fs.existsSync(at)));
}

function spawnIn(program, words, { env, cwd }) {
  return spawn(program, words, { env, cwd, detached: true, stdio: ["pipe", "pipe", "pipe"] });
}

/** Say hello to a program and wait for its answer, its end, or the limit. */
function talk(children, child, seconds) {
  children.own(child.pid);
  const said = { out: "", err: "" };
  child.stderr.setEncoding("utf8").on("data", (text) => {
    if (said.err.length < MAX_ANSWER) said.err += text;
  });
  child.stdin.on("error", () => undefined); // It ended before it was asked.
  child.stdin.write(`${JSON.stringify(HELLO)}\n`);
  return new Promise((resolve) => {
    let over = false;
    const end = (told) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      children.kill(child.pid);
      resolve({ ...told, said: head(said.err) });
    };
    const timer = setTimeout(() => end(tooLate(seconds)), seconds * 1000);
    child.once("error", (error) => end(failed(`it cannot be started: ${error.code ?? error.message}`)));
    child.once("close", (status, signal) => {
      end({ ...failed(`it ended ${status === null ? `by ${signal}` : `with status ${status}`}, without an answer`), status });
    });
    child.stdout.setEncoding("utf8").on("data", (text) => {
      if (said.out.length < MAX_ANSWER) said.out += text;
      const lines = said.out.split("\n");
      for (const line of lines.slice(0, -1)) {
        const answer = objectOf(line);
        if (answer?.id === HELLO.id) end(judged(answer));
      }
    });
  });
}

async function http(trial, { own, seconds, hidden }) {
  const entry = entryOf(trial, own, hidden);
  const headers = headersOf(entry, own, hidden);
  const url = entry[trial.form];
  if (typeof url !== "string" || !/^https?:\/\//.test(url)) return failed("it has no URL that could be asked");
  const accept = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const limit = AbortSignal.timeout(seconds * 1000);
  const common = { redirect: "manual", signal: limit };
  let answer;
  try {
    const body = JSON.stringify(HELLO);
    answer = await fetch(url, { ...common, method: "POST", headers: { ...accept, ...headers }, body });
  } catch (error) {
    return limit.aborted ? tooLate(seconds) : failed(`it cannot be reached: ${error?.cause?.code ?? error?.message}`);
  }
  if (!answer.ok) {
    await answer.body?.cancel();
    return { ...failed(`it answers HTTP ${answer.status}`), status: answer.status };
  }
  const text = await textOf(answer);
  const session = answer.headers.get("mcp-session-id");
  if (session) await fetch(url, { ...common, method: "DELETE", headers: { ...headers, "mcp-session-id": session } }).catch(() => undefined);
  const found = [text, ...text.split("\n").map((line) => line.replace(/^data:\s*/, ""))].map(objectOf);
  const hello = found.find((each) => each?.id === HELLO.id);
  return hello ? judged(hello) : failed("what it answers is no MCP");
}

/** The beginning of a body, up to the first answer: a stream may never end. */
async function textOf(answer) {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > MAX_ANSWER || (/"id"\s*:\s*1\b/.test(text) && text.endsWith("\n"))) break;
    }
  } catch {
    // Time was up: what came until then is judged.
  }
  return text;
}

function judged(answer) {
  const server = answer.result?.serverInfo;
  if (answer.error) return failed(`it answers with an error: ${answer.error.message ?? answer.error.code}`);
  if (typeof answer.result?.protocolVersion !== "string") return failed("what it answers is no MCP");
  return { state: "answered", server: String(server?.name ?? ""), version: String(server?.version ?? "") };
}

function failed(why) {
  return { state: "failed", why };
}

function tooLate(seconds) {
  const told = `no answer within ${Math.round(seconds)} s`;
  if (seconds >= PATIENCE) return failed(told);
  return { state: "untried", why: `${told}; it needs a longer --timeout` };
}

function head(text) {
  return text.split("\n").filter((line) => line.trim() !== "").slice(0, SHOWN);
}
