// The runs of a deep check, and what each of them brought.

import { randomBytes } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { AgentCopy } from "./home.mjs";
import { declaredTools, saidTo } from "./model.mjs";
import { PALACE_TOOLS } from "./palace.mjs";
import { Desk } from "./servers.mjs";
import { environment, NAMES, standIns } from "./surroundings.mjs";

const HERE = import.meta.dirname;
const ASSUMED_DEVICE = "fleet-deep";
const PROMPT = `fleet-deep-prompt: please file what this check is about, and answer in a sentence or two. ${"It asks whether what is remembered here can be found again. ".repeat(6)}`;
const ANSWER = `Filed. ${"The heron nests behind the old granary, said the keeper of the northern lock. ".repeat(8)}`;
const MAIL = "fleet-deep-mail: please confirm that this reached you";
const DRAWER = { wing: "fleet_deep", room: "check", content: "A drawer that only a check wrote." };
const DIARY = { agent_name: "pi", entry: "SESSION|checked.by.fleet" };
const HEALTHY = { MEMPALACE_MCP_INIT_TIMEOUT_MS: "8000", MEMPALACE_MCP_TIMEOUT_MS: "8000" };
const SHORT = { MEMPALACE_MCP_INIT_TIMEOUT_MS: "400", MEMPALACE_MCP_TIMEOUT_MS: "400" };
const FIRST_SHARE = 0.6;
// What takes so many times as long as `pi --version`, and this many seconds, hangs: a run takes
// about five times as long, with an extension that asks a slow server twenty. A slow machine is slow
// in both.
const HANGING = 25;
const LEAST_PATIENCE = 12;
const PALACE_NAMES = PALACE_TOOLS.map((tool) => tool.name);

export class Check {
  constructor(given) {
    Object.assign(this, given);
    this.begun = performance.now();
    this.events = [];
    this.token = randomBytes(16).toString("hex");
    this.palace = `/fleet-scratch/${randomBytes(6).toString("hex")}/palace`;
    this.hadUrl = Boolean(this.own[NAMES.url]?.trim());
    const device = this.own[NAMES.device]?.trim();
    this.assumed = this.config.assume || (!this.hadUrl && !device);
    this.device = this.assumed ? device || ASSUMED_DEVICE : device;
    this.remote = this.assumed || this.hadUrl;
  }

  left() {
    return Math.max(0.5, this.seconds - (performance.now() - this.begun) / 1000);
  }

  async run() {
    const pace = await this.#pace();
    this.patience = Math.max(LEAST_PATIENCE, (HANGING * pace) / 1000);
    const first = Math.min(this.left() * FIRST_SHARE, this.patience);
    const loading = this.#load(first);
    const healthy = await this.#pi("healthy", { local: !this.remote }, first);
    const loaded = await loading;
    const runs = [healthy];
    if (healthy.stage !== "" && healthy.requests > 0) runs.push(...(await this.#others()));
    return {
      ...loaded,
      patience: Math.floor(this.patience * 1000),
      palace: this.palace,
      offered: Object.fromEntries(PALACE_TOOLS.map((tool) => [tool.name, Object.keys(tool.inputSchema.properties)])),
      device: this.device ?? "",
      identity: this.assumed ? "assumed" : "own",
      unset: Object.values(NAMES).filter((name) => !this.own[name]?.trim()),
      runs,
    };
  }

  /** The further runs, as many at once as there are processors. */
  async #others() {
    const waiting = [
      ["again", { local: !this.remote, after: "healthy" }],
      ["dead", { manner: "dead", added: SHORT }],
      ["refused", { manner: "refusing", added: SHORT }],
      ["silent", { manner: "silent", added: SHORT }],
    ];
    if (this.assumed && !this.config.assume) waiting.push(["local", { local: true }]);
    const done = [];
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        done.push(await this.#pi(next[0], next[1], Math.min(this.left(), this.patience)));
      }
    };
    await Promise.all(Array.from({ length: Math.min(4, Math.max(2, os.availableParallelism())) }, work));
    return done;
  }

  /** Place a run's own folder; returns where its parts are. */
  #place(name) {
    const root = path.join(this.folder, "runs", name);
    const at = (part) => path.join(root, part);
    for (const part of ["home", "work", "tmp"]) fs.mkdirSync(at(part), { recursive: true });
    return { at, spy: at("spy"), stdio: at("stdio"), feed: at("feed"), agent: at("agent"), bin: at("bin") };
  }

  async #address(manner, desk, route) {
    const { palace, model } = this.servers.add(desk, route);
    return { model, palace: manner === "dead" ? `http://127.0.0.1:${await closedPort()}/mcp` : palace };
  }

  #environment(places, address, { local, added }) {
    const helper = this.own.MEMPALACE_FEED_BIN?.trim() || "mempalace-pi-session";
    const program = path.join(HERE, "mcp.mjs");
    const feed = standIns(places.bin, { node: process.execPath, program, own: this.own, helper, always: !local });
    const named = this.assumed || this.own[NAMES.ssh]?.trim();
    const [name, value] = this.mark.split("=");
    return environment(this.own, places.at("home"), {
      PATH: `${places.bin}:${this.own.PATH ?? ""}`,
      TMPDIR: places.at("tmp"),
      PI_CODING_AGENT_DIR: places.agent,
      [name]: value,
      FLEET_DEEP_SPY: places.spy,
      FLEET_DEEP_STDIO: places.stdio,
      FLEET_DEEP_FEED: places.feed,
      FLEET_DEEP_PALACE: this.palace,
      MEMPALACE_PALACE_PATH: path.join(places.at("home"), "palace"),
      MEMPALACE_MCP_RESPAWN_BACKOFF_MS: "20",
      ...(local ? {} : { [NAMES.url]: address.palace, MEMPALACE_REMOTE_TOKEN: this.token }),
      ...(this.device ? { [NAMES.device]: this.device } : {}),
      ...(named ? { [NAMES.ssh]: "fleet@palace.invalid" } : {}),
      ...feed,
      ...HEALTHY,
      ...added,
    });
  }

  /** One run; `after` names the run whose agent folder and addresses it takes over. */
  async #pi(name, { manner = "plain", local = false, added = {}, after }, seconds) {
    const places = { ...this.#place(name), ...(after ? { agent: this.#place(after).agent } : {}) };
    const script = manner === "plain" ? workScript() : () => ANSWER;
    const desk = new Desk({ name, palace: this.palace, token: this.token, manner }, this.events, script);
    const mail = name === "healthy" && this.device ? desk.palace.append(mailTo(this.device)) : undefined;
    const address = await this.#address(manner, desk, after ?? name);
    if (!after) new AgentCopy(this.agent, places.agent, this.home).make({ ...address, token: this.token });
    const env = this.#environment(places, address, { local, added });
    const words = ["--offline", "-e", path.join(HERE, "spy.ts"), "--model", "fake/fake", "-p", PROMPT];
    const ended = await this.children.run(this.pi, words, { env, cwd: places.at("work"), seconds });
    return told(name, { ended, desk, places, mail, local });
  }

  /** How many milliseconds this machine takes for the least that pi can be asked. */
  async #pace() {
    const places = this.#place("pace");
    const env = this.#environment(places, {}, { local: true, added: {} });
    const seconds = this.left() * FIRST_SHARE;
    return (await this.children.run(this.pi, ["--version"], { env, cwd: places.at("work"), seconds })).milliseconds;
  }

  async #load(seconds) {
    const none = { extensions: [], errors: [], listed: false };
    if (!this.pack || !fs.existsSync(path.join(this.pack.root, "dist/index.js"))) return none;
    const places = this.#place("load");
    const desk = new Desk({ name: "load", palace: this.palace, token: this.token, manner: "plain" }, [], () => ANSWER);
    const address = await this.#address("plain", desk, "load");
    new AgentCopy(this.agent, places.agent, this.home).make({ ...address, token: this.token });
    const env = this.#environment(places, address, { local: !this.remote, added: {} });
    const words = [path.join(HERE, "load.mjs"), this.pack.root, places.at("loaded")];
    const cwd = places.at("work");
    await this.children.run(process.execPath, words, { env, cwd, seconds });
    try {
      return { ...JSON.parse(fs.readFileSync(places.at("loaded"), "utf8")), listed: true };
    } catch {
      return none;
    }
  }
}

/** A port of loopback that nothing listens on. */
function closedPort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function mailTo(device) {
  return {
    ...{ type: "task.request", room: "delegation", from_agent: "pi@fleet-controller", status: "open" },
    ...{ to_agent: `pi@${device}`, correlation_id: "fleet-deep", body: MAIL },
  };
}

/** The model's side: it writes as an agent would, and answers its mail once that is there. */
function workScript() {
  let answered = false;
  return (body, turn) => {
    const declared = [...declaredTools(body).keys()];
    const named = (tool) => declared.find((name) => name === tool || name.endsWith(`__${tool}`));
    const calls = [];
    const call = (tool, args) => named(tool) && calls.push({ name: named(tool), arguments: args });
    if (turn === 0) {
      call("mempalace_add_drawer", DRAWER);
      call("mempalace_diary_write", DIARY);
    }
    const id = answered ? undefined : mailIn(body);
    answered ||= id !== undefined;
    if (id) call("mempalace_event_ack", { event_id: id, status: "applied", body: "confirmed" });
    return calls.length > 0 ? calls : ANSWER;
  };
}

function mailIn(body) {
  const text = injected(body);
  return text.includes(MAIL) ? /\bevt_\w+/.exec(text)?.[0] : undefined;
}

/** What was put before the model beside the prompt itself. */
function injected(body) {
  const told = saidTo(body).filter((message) => message.role === "user" && !message.text.includes("fleet-deep-prompt"));
  return told.map((message) => message.text).join("\n");
}

function told(name, { ended, desk, places, mail, local }) {
  const spied = linesOf(places.spy).map(parsed);
  const stdio = linesOf(places.stdio).map(parsed);
  const first = desk.model.bodies[0];
  const declared = [...declaredTools(first)];
  const ours = declared.filter(([tool]) => PALACE_NAMES.some((own) => tool === own || tool.endsWith(`__${own}`)));
  const owners = spied.findLast((note) => note.owners)?.owners ?? [];
  const calls = [...desk.calls, ...stdio.flatMap((note) => note.call ?? [])];
  const before = first ? injected(first) : "";
  return {
    name,
    local,
    status: ended.status,
    late: ended.late,
    error: ended.error ?? "",
    milliseconds: ended.milliseconds,
    stage: spied.at(-1)?.at ?? "",
    stages: spied.map((note) => note.at),
    requests: desk.model.bodies.length,
    answered: ended.out.includes(ANSWER.slice(0, 40)),
    tools: Object.fromEntries(ours),
    others: declared.length - ours.length,
    owners: Object.fromEntries(owners.filter(([tool]) => ours.some(([own]) => own === tool))),
    wakeup: before,
    named: before.includes(desk.palace.path),
    methods: [...new Set([...desk.methods, ...stdio.flatMap((note) => note.method ?? [])])],
    calls: calls.map(plainCall),
    started_local: stdio.length > 0,
    prepared: linesOf(places.feed).map(preparation),
    mail: mailTold(mail, desk.model.bodies, calls),
    said: ended.err.split("\n").filter((line) => line.trim() !== "").slice(-40),
  };
}

function mailTold(mail, bodies, calls) {
  const replies = calls.filter((call) => call.name === "mempalace_event_ack" && call.refused === null);
  return {
    sent: mail !== undefined,
    delivered: bodies.some((body) => injected(body).includes(MAIL)),
    replied: mail !== undefined && replies.some((call) => call.arguments.event_id === mail.id),
  };
}

function plainCall(call) {
  const fields = Object.entries(call.arguments).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]);
  return { name: call.name, arguments: Object.fromEntries(fields), refused: call.refused };
}

function preparation(line) {
  const [status, words, source] = line.split("\t");
  return { status: Number(status), words: words ?? "", source: source ?? "" };
}

function linesOf(file) {
  try {
    return fs.readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
  } catch {
    return [];
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return {}; // The last line of a program that was killed.
  }
}
